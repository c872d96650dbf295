import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/** A committed and an aborted transaction with what kafka-clients had from 0.11 to 3.9. */
public final class OldTransactions {
    private OldTransactions() {
    }

    public static void main(String[] words) {
        new Steps().add("transactions", OldTransactions::transactions).run(words);
    }

    @SuppressWarnings("deprecation")
    static Object transactions(Properties config) {
        Properties own = Steps.with(config, "client.id", "java-transactional", "transactional.id", "java-payments");
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(own, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("orders", "tx", "committed"));
            producer.sendOffsetsToTransaction(
                Collections.singletonMap(new TopicPartition("orders", 0), new OffsetAndMetadata(1)), "java-tx-group");
            producer.commitTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("orders", "tx", "aborted"));
            producer.flush();
            producer.abortTransaction();
            return "committed and aborted";
        }
    }
}
