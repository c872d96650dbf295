import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Share groups as Kafka 4.0 had them in early access (KIP-932); needs kafka-clients 4.0. */
public final class EarlyShare {
    private EarlyShare() {
    }

    public static void main(String[] words) {
        new Steps().add("consume", EarlyShare::consume).run(words);
    }

    static Object consume(Properties config) throws Exception {
        try (Admin admin = Admin.create(Steps.with(config, "client.id", "java-admin"))) {
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "share-group");
            admin.incrementalAlterConfigs(Map.of(group, List.of(
                new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET))))
                .all().get();
            int seen = 0;
            try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(
                    Steps.with(config, "client.id", "java-share", "group.id", "share-group", "fetch.max.wait.ms", "200"),
                    new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of("orders"));
                long deadline = System.currentTimeMillis() + 12_000;
                while (seen < 10 && System.currentTimeMillis() < deadline) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(300))) {
                        consumer.acknowledge(record, seen++ % 3 == 2 ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
                    }
                    consumer.commitSync(Duration.ofSeconds(10));
                }
                admin.describeShareGroups(List.of("share-group")).all().get();
            }
            return seen;
        }
    }
}
