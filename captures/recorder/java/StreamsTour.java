import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Produced;

/** A streams group (KIP-1071) that counts by value; needs kafka-streams 4.1 or newer. */
public final class StreamsTour {
    private static final String APPLICATION = "streams-app";

    private StreamsTour() {
    }

    public static void main(String[] words) {
        new Steps().add("count", StreamsTour::count).add("delete", StreamsTour::delete).run(words);
    }

    static Object count(Properties config) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("orders").groupBy((key, value) -> value.length() + "").count()
            .toStream().to("counts", Produced.with(Serdes.String(), Serdes.Long()));
        Properties own = Steps.with(config, "application.id", APPLICATION, "group.protocol", "streams",
            "num.stream.threads", "2", "commit.interval.ms", "1000", "default.key.serde", Serdes.StringSerde.class,
            "default.value.serde", Serdes.StringSerde.class, "auto.offset.reset", "earliest",
            "fetch.max.wait.ms", "1000", "state.dir", System.getProperty("java.io.tmpdir") + "/streams-" + ProcessHandle.current().pid());
        try (KafkaStreams streams = new KafkaStreams(builder.build(), own)) {
            streams.start();
            long deadline = System.currentTimeMillis() + 20_000;
            while (streams.state() != KafkaStreams.State.RUNNING && System.currentTimeMillis() < deadline) {
                Thread.sleep(200);
            }
            Thread.sleep(5_000);
            try (Admin admin = Admin.create(Steps.with(config, "client.id", "java-admin"))) {
                return streams.state() + " " + admin.describeStreamsGroups(List.of(APPLICATION)).all().get().size();
            }
        }
    }

    static Object delete(Properties config) throws Exception {
        try (Admin admin = Admin.create(Steps.with(config, "client.id", "java-admin"))) {
            return admin.deleteStreamsGroups(List.of(APPLICATION)).all().get();
        }
    }
}
