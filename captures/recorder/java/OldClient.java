import java.util.Arrays;
import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Producers and consumers with what kafka-clients had from 0.10.1 to 3.9. */
public final class OldClient {
    private OldClient() {
    }

    public static void main(String[] words) {
        new Steps().add("codecs", OldClient::codecs).add("acks", OldClient::acks).add("group", OldClient::group)
            .add("offsets", OldClient::offsets).run(words);
    }

    private static void send(Properties config, String name, int count) {
        Properties own = Steps.with(config, "client.id", "java-" + name, "linger.ms", "20");
        own.remove("codecs");
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(own, new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < count; i++) {
                producer.send(new ProducerRecord<>("orders", name + "-" + i,
                    "{\"order\": " + i + ", \"codec\": \"" + name + "\", \"note\": \"" + "ab".repeat(40) + "\"}"));
            }
        }
    }

    static Object codecs(Properties config) {
        for (String codec : config.getProperty("codecs").split(",")) {
            send(Steps.with(config, "compression.type", codec), codec, 5);
        }
        return "sent";
    }

    static Object acks(Properties config) {
        for (String acks : Arrays.asList("0", "1", "all")) {
            send(Steps.with(config, "acks", acks), "acks-" + acks, 2);
        }
        return "sent";
    }

    private static KafkaConsumer<String, String> consumer(Properties config, String name) {
        Properties own = Steps.with(config, "client.id", name, "group.id", "java-group", "auto.offset.reset",
            "earliest", "fetch.max.wait.ms", "200", "enable.auto.commit", "false", "heartbeat.interval.ms", "1000");
        own.remove("codecs");
        return new KafkaConsumer<>(own, new StringDeserializer(), new StringDeserializer());
    }

    @SuppressWarnings("deprecation")
    private static int drain(KafkaConsumer<String, String> consumer, int enough, long millis) {
        int got = 0;
        long deadline = System.currentTimeMillis() + millis;
        while (got < enough && System.currentTimeMillis() < deadline) {
            for (ConsumerRecord<String, String> record : consumer.poll(200)) {
                got += record.value() == null ? 0 : 1;
            }
        }
        return got;
    }

    /** Two members, each in its own thread as old consumers block while the group rebalances. */
    static Object group(Properties config) throws InterruptedException {
        int[] got = new int[2];
        Thread first = new Thread(() -> got[0] = member(config, "java-consumer-1", 9_000));
        Thread second = new Thread(() -> got[1] = member(config, "java-consumer-2", 3_000));
        first.start();
        Thread.sleep(3_500);
        second.start();
        first.join();
        second.join();
        return got[0] + " and " + got[1] + " records";
    }

    private static int member(Properties config, String name, long millis) {
        try (KafkaConsumer<String, String> consumer = consumer(config, name)) {
            consumer.subscribe(Collections.singletonList("orders"));
            int got = drain(consumer, 1_000, millis);
            consumer.commitSync();
            for (TopicPartition partition : consumer.assignment()) {
                consumer.committed(partition);
            }
            return got;
        }
    }

    static Object offsets(Properties config) {
        TopicPartition zero = new TopicPartition("orders", 0);
        try (KafkaConsumer<String, String> consumer = consumer(config, "java-offsets")) {
            return consumer.beginningOffsets(Arrays.asList(zero)) + " " + consumer.endOffsets(Arrays.asList(zero))
                + " " + consumer.offsetsForTimes(Collections.singletonMap(zero, 1_600_000_000_000L));
        }
    }
}
