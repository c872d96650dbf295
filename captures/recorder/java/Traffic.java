import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Producers and consumers of every kind; needs kafka-clients 2.0 or newer. */
public final class Traffic {
    static final String NOTE = "ab".repeat(40);

    private Traffic() {
    }

    public static void main(String[] words) {
        new Steps()
            .add("codecs", Traffic::codecs)
            .add("acks", Traffic::acks)
            .add("oversized", Traffic::oversized)
            .add("transactions", Traffic::transactions)
            .add("hanging-transaction", Traffic::hangingTransaction)
            .add("group", config -> group(config, "classic", "java-group"))
            .add("group848", config -> group(config, "consumer", "java-group-848"))
            .add("offsets", Traffic::offsets)
            .add("fetch-session", Traffic::fetchSession)
            .add("load", Traffic::load)
            .add("hello", Traffic::hello)
            .add("throttled", Traffic::throttled)
            .run(words);
    }

    static String topic(Properties config) {
        return config.getProperty("topic", "orders");
    }

    static KafkaProducer<String, String> producer(Properties config, String name, Object... pairs) {
        Properties own = Steps.with(config, "client.id", name, "linger.ms", "20");
        own.remove("topic");
        return new KafkaProducer<>(Steps.with(own, pairs), new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(Properties config, String name, Object... pairs) {
        Properties own = Steps.with(config, "client.id", name, "auto.offset.reset", "earliest",
            "fetch.max.wait.ms", "200", "enable.auto.commit", "false", "heartbeat.interval.ms", "1000");
        own.remove("topic");
        return new KafkaConsumer<>(Steps.with(own, pairs), new StringDeserializer(), new StringDeserializer());
    }

    static void send(KafkaProducer<String, String> producer, String topic, String label, int count) {
        for (int i = 0; i < count; i++) {
            ProducerRecord<String, String> record = new ProducerRecord<>(topic, label + "-" + i,
                "{\"order\": " + i + ", \"codec\": \"" + label + "\", \"note\": \"" + NOTE + "\"}");
            record.headers().add("source", "java".getBytes());
            producer.send(record);
        }
        producer.flush();
    }

    static Object codecs(Properties config) {
        for (String codec : config.getProperty("codecs", "none,gzip,snappy,lz4,zstd").split(",")) {
            Properties own = Steps.with(config);
            own.remove("codecs");
            try (KafkaProducer<String, String> producer =
                    producer(own, "java-" + codec, "compression.type", codec, "enable.idempotence", "false")) {
                send(producer, topic(config), codec, 5);
            }
        }
        return "sent";
    }

    static Object acks(Properties config) {
        for (String acks : List.of("0", "1", "all")) {
            String idempotence = acks.equals("all") ? "true" : "false";
            try (KafkaProducer<String, String> producer =
                    producer(config, "java-acks-" + acks, "acks", acks, "enable.idempotence", idempotence)) {
                send(producer, topic(config), "acks-" + acks, 2);
            }
        }
        return "sent";
    }

    static Object oversized(Properties config) throws Exception {
        try (KafkaProducer<String, String> producer =
                producer(config, "java-oversized", "max.request.size", "4000000", "enable.idempotence", "false")) {
            Future<RecordMetadata> sent =
                producer.send(new ProducerRecord<>(topic(config), "big", "x".repeat(60_000)));
            producer.flush();
            return sent.get();
        }
    }

    static Object transactions(Properties config) {
        try (KafkaProducer<String, String> producer =
                producer(config, "java-transactional", "transactional.id", "java-payments");
            KafkaConsumer<String, String> reader = consumer(config, "java-tx-reader",
                "group.id", "java-tx-group", "isolation.level", "read_committed")) {
            producer.initTransactions();
            reader.subscribe(List.of(topic(config)));
            int read = drain(reader, 20, 15_000);
            producer.beginTransaction();
            send(producer, topic(config), "committed", 2);
            producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition(topic(config), 0), new OffsetAndMetadata(1)), reader.groupMetadata());
            producer.commitTransaction();
            producer.beginTransaction();
            send(producer, topic(config), "aborted", 2);
            producer.abortTransaction();
            return "read " + (read + drain(reader, 3, 2_000));
        }
    }

    static Object hangingTransaction(Properties config) throws Exception {
        KafkaProducer<String, String> producer =
            producer(config, "java-hanging", "transactional.id", "java-hanging", "transaction.timeout.ms", "60000");
        producer.initTransactions();
        producer.beginTransaction();
        send(producer, topic(config), "hanging", 1);
        System.out.println("-- hanging-transaction: left open");
        // Closing the producer would abort; a crash does not.
        Runtime.getRuntime().halt(0);
        return null;
    }

    static int drain(KafkaConsumer<String, String> consumer, int enough, long millis) {
        int got = 0;
        long deadline = System.currentTimeMillis() + millis;
        while (got < enough && System.currentTimeMillis() < deadline) {
            got += consumer.poll(Duration.ofMillis(200)).count();
        }
        return got;
    }

    static final class Assignments implements ConsumerRebalanceListener {
        final List<String> seen = new ArrayList<>();

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            seen.add("-" + partitions);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            seen.add("+" + partitions);
        }
    }

    static Object group(Properties config, String protocol, String group) {
        Object[] own = protocol.equals("classic")
            ? new Object[] {"group.id", group}
            : new Object[] {"group.id", group, "group.protocol", protocol};
        if (!protocol.equals("classic")) {
            config = Steps.with(config);
        }
        Assignments assignments = new Assignments();
        KafkaConsumer<String, String> first = member(config, group + "-1", protocol, own);
        KafkaConsumer<String, String> second = member(config, group + "-2", protocol, own);
        try {
            first.subscribe(List.of(topic(config)), assignments);
            int got = drain(first, 5, 15_000);
            second.subscribe(List.of(topic(config)));
            long deadline = System.currentTimeMillis() + 20_000;
            while (second.assignment().isEmpty() && System.currentTimeMillis() < deadline) {
                got += drain(first, 1, 200) + drain(second, 1, 200);
            }
            first.commitSync();
            second.commitSync();
            first.committed(first.assignment());
            second.close();
            got += drain(first, 1_000, 2_500);
            first.commitSync();
            return got + " records, " + assignments.seen;
        } finally {
            first.close();
            second.close();
        }
    }

    private static KafkaConsumer<String, String> member(Properties config, String name, String protocol, Object[] own) {
        Properties extra = Steps.with(config, own);
        extra.putAll(Map.of("client.id", name, "auto.offset.reset", "earliest", "fetch.max.wait.ms", "200",
            "enable.auto.commit", "false"));
        if (protocol.equals("classic")) {
            extra.put("heartbeat.interval.ms", "1000");
        }
        extra.remove("topic");
        return new KafkaConsumer<>(extra, new StringDeserializer(), new StringDeserializer());
    }

    static Object offsets(Properties config) {
        TopicPartition zero = new TopicPartition(topic(config), 0);
        TopicPartition one = new TopicPartition(topic(config), 1);
        try (KafkaConsumer<String, String> consumer = consumer(config, "java-offsets")) {
            return consumer.beginningOffsets(List.of(zero, one)) + " " + consumer.endOffsets(List.of(zero, one))
                + " " + consumer.offsetsForTimes(Map.of(zero, 1_600_000_000_000L));
        }
    }

    /** Polls long enough for incremental fetches, then changes what is fetched, so that partitions are forgotten. */
    static Object fetchSession(Properties config) {
        TopicPartition zero = new TopicPartition(topic(config), 0);
        TopicPartition one = new TopicPartition(topic(config), 1);
        try (KafkaConsumer<String, String> consumer = consumer(config, "java-session", "max.poll.records", "3")) {
            consumer.assign(List.of(zero, one));
            consumer.seekToBeginning(List.of(zero, one));
            int got = drain(consumer, 1_000, 2_000);
            consumer.assign(List.of(zero));
            got += drain(consumer, 1_000, 1_000);
            consumer.assign(List.of(zero, one));
            consumer.seekToBeginning(List.of(one));
            return got + drain(consumer, 1_000, 1_000);
        }
    }

    /** One record sent and read. */
    static Object hello(Properties config) throws Exception {
        try (KafkaProducer<String, String> producer = producer(config, "java-hello", "enable.idempotence", "false",
                "max.block.ms", "8000")) {
            producer.send(new ProducerRecord<>(topic(config), "hello", "secret words")).get();
        }
        try (KafkaConsumer<String, String> consumer = consumer(config, "java-hello-reader", "default.api.timeout.ms", "8000")) {
            TopicPartition zero = new TopicPartition(topic(config), 0);
            consumer.assign(List.of(zero));
            consumer.seekToBeginning(List.of(zero));
            return drain(consumer, 1, 3_000);
        }
    }

    /** Sends and reads at a steady low rate for the given number of seconds. */
    static Object load(Properties config) throws InterruptedException {
        long deadline = System.currentTimeMillis() + 1_000 * Long.parseLong(config.getProperty("seconds", "20"));
        Properties own = Steps.with(config);
        own.remove("seconds");
        int sent = 0;
        int got = 0;
        try (KafkaProducer<String, String> producer =
                producer(own, "java-load", "retry.backoff.ms", "300", "request.timeout.ms", "5000", "delivery.timeout.ms", "30000");
            KafkaConsumer<String, String> consumer = consumer(own, "java-load-reader", "group.id", "java-load")) {
            consumer.subscribe(List.of(topic(config)));
            while (System.currentTimeMillis() < deadline) {
                producer.send(new ProducerRecord<>(topic(config), "key-" + sent++, NOTE));
                got += consumer.poll(Duration.ofMillis(300)).count();
                Thread.sleep(150);
            }
        }
        return sent + " sent, " + got + " read";
    }

    /** Sends and reads more than the quota of this client allows. */
    static Object throttled(Properties config) {
        int got;
        try (KafkaProducer<String, String> producer =
                producer(config, "java-throttled", "enable.idempotence", "false")) {
            for (int i = 0; i < 6; i++) {
                send(producer, topic(config), "throttled", 20);
            }
        }
        try (KafkaConsumer<String, String> consumer = consumer(config, "java-throttled")) {
            consumer.assign(List.of(new TopicPartition(topic(config), 0), new TopicPartition(topic(config), 1)));
            consumer.seekToBeginning(consumer.assignment());
            got = drain(consumer, 1_000, 4_000);
        }
        return got;
    }
}
