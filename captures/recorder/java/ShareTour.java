import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Share groups and other calls that came with Kafka 4; needs kafka-clients 4.4 or newer. */
public final class ShareTour {
    private static final String GROUP = "share-group";

    private ShareTour() {
    }

    public static void main(String[] words) {
        new Steps()
            .add("prepare", ShareTour::prepare)
            .add("consume", ShareTour::consume)
            .add("offsets", ShareTour::offsets)
            .add("resources", ShareTour::resources)
            .add("voters", ShareTour::voters)
            .add("unregister", ShareTour::unregister)
            .run(words);
    }

    private static Admin admin(Properties config) {
        Properties own = Steps.with(config, "client.id", "java-admin", "default.api.timeout.ms", "30000");
        own.remove("node");
        own.remove("directory");
        return Admin.create(own);
    }

    static Object prepare(Properties config) throws Exception {
        try (Admin admin = admin(config)) {
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, GROUP);
            return admin.incrementalAlterConfigs(Map.of(group, List.of(
                new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET))))
                .all().get();
        }
    }

    private static KafkaShareConsumer<String, String> consumer(Properties config, String name) {
        return new KafkaShareConsumer<>(Steps.with(config, "client.id", name, "group.id", GROUP,
            "share.acknowledgement.mode", "explicit", "fetch.max.wait.ms", "200", "max.poll.records", "5"),
            new StringDeserializer(), new StringDeserializer());
    }

    /** Two members that accept, release and reject in turn. */
    static Object consume(Properties config) throws Exception {
        int[] counts = new int[AcknowledgeType.values().length];
        try (KafkaShareConsumer<String, String> first = consumer(config, "java-share-1");
            KafkaShareConsumer<String, String> second = consumer(config, "java-share-2")) {
            first.subscribe(List.of("orders"));
            second.subscribe(List.of("orders"));
            long deadline = System.currentTimeMillis() + 10_000;
            int seen = 0;
            while (seen < 30 && System.currentTimeMillis() < deadline) {
                for (KafkaShareConsumer<String, String> consumer : List.of(first, second)) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(300))) {
                        AcknowledgeType type = seen % 7 == 5 ? AcknowledgeType.RELEASE
                            : seen % 7 == 6 ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT;
                        consumer.acknowledge(record, type);
                        counts[type.ordinal()]++;
                        seen++;
                    }
                    consumer.commitSync(Duration.ofSeconds(10));
                }
            }
            try (Admin admin = admin(config)) {
                admin.describeShareGroups(List.of(GROUP)).all().get();
                admin.listGroups().all().get();
            }
        }
        return counts[1] + " " + counts[2] + " " + counts[3];
    }

    static Object offsets(Properties config) throws Exception {
        try (Admin admin = admin(config)) {
            Object found = admin.listShareGroupOffsets(Map.of(GROUP, new ListShareGroupOffsetsSpec())).all().get();
            admin.alterShareGroupOffsets(GROUP, Map.of(new TopicPartition("orders", 0), 1L)).all().get();
            admin.deleteShareGroupOffsets(GROUP, Set.of("orders")).all().get();
            admin.deleteShareGroups(List.of(GROUP)).all().get();
            return found;
        }
    }

    static Object resources(Properties config) throws Exception {
        try (Admin admin = admin(config)) {
            return admin.listConfigResources(Set.of(), new ListConfigResourcesOptions()).all().get();
        }
    }

    /** Adds the controller that {@code node} and {@code directory} name to the quorum, and removes it. */
    static Object voters(Properties config) throws Exception {
        int node = Integer.parseInt(config.getProperty("node"));
        Uuid directory = Uuid.fromString(config.getProperty("directory"));
        String host = config.getProperty("host");
        Properties own = Steps.with(config);
        own.remove("host");
        try (Admin admin = admin(own)) {
            admin.addRaftVoter(node, directory, Set.of(new RaftVoterEndpoint("CONTROLLER", host, 9093))).all().get();
            Thread.sleep(1_000);
            admin.describeMetadataQuorum().quorumInfo().get();
            admin.removeRaftVoter(node, directory).all().get();
            return "added and removed";
        }
    }

    static Object unregister(Properties config) throws Exception {
        int node = Integer.parseInt(config.getProperty("node"));
        try (Admin admin = admin(config)) {
            try {
                admin.unregisterController(node).all().get();
            } catch (Exception failed) {
                System.out.println("controller: " + failed.getCause());
            }
            return admin.unregisterBroker(node).all().get();
        }
    }
}
