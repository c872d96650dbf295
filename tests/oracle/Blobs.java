import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;
import org.apache.kafka.streams.state.HostInfo;

/**
 * Writes what Streams and Connect tell through their groups, whose formats Kafka writes by hand: one JSON object per line
 * with what was told and the bytes. Usage: Blobs OUTPUT.
 */
public final class Blobs {
    private static final int SAMPLES = 12;
    private static final int STREAMS_VERSIONS = 11;
    private static final String[] NAMES = {"orders", "a", "topic-ü€", "x".repeat(130)};

    private final Random random;

    private Blobs(long seed) {
        random = new Random(seed);
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        try (BufferedWriter out = Files.newBufferedWriter(Path.of(arguments[0]))) {
            for (int sample = 0; sample < SAMPLES; sample++) {
                List<Map<String, Object>> all = new ArrayList<>();
                for (int version = 1; version <= STREAMS_VERSIONS; version++) {
                    Blobs blobs = new Blobs(1000 * sample + version);
                    all.add(blobs.subscription(version));
                    all.add(blobs.assignment(version));
                }
                for (int version = 0; version <= 2; version++) {
                    Blobs blobs = new Blobs(1000 * sample + 500 + version);
                    all.add(blobs.worker(version));
                    all.add(blobs.work(version));
                }
                for (Map<String, Object> line : all) {
                    out.write(json.writeValueAsString(line));
                    out.write('\n');
                }
            }
        }
    }

    private Map<String, Object> line(String name, int version, ByteBuffer bytes, Map<String, Object> told) {
        byte[] content = new byte[bytes.remaining()];
        bytes.duplicate().get(content);
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("name", name);
        line.put("version", version);
        line.put("told", told);
        line.put("bytes", content);
        return line;
    }

    private Map<String, Object> subscription(int version) {
        Map<TaskId, Long> sums = new LinkedHashMap<>();
        Map<String, Long> tasks = new TreeMap<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            TaskId task = task(version);
            // -2, Task.LATEST_OFFSET, says that the task runs; anything else is a standby's.
            long sum = random.nextBoolean() ? -2 : random.nextInt(1000);
            sums.put(task, sum);
            tasks.put(task.toString(), sum);
        }
        UUID process = new UUID(random.nextLong(), random.nextLong());
        String endpoint = random.nextInt(3) == 0 ? null : name() + ":8080";
        Map<String, String> tags = new TreeMap<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            tags.put(name(), name());
        }
        byte unique = (byte) random.nextInt(256);
        int error = random.nextInt(3);
        SubscriptionInfo info =
            new SubscriptionInfo(version, STREAMS_VERSIONS, new ProcessId(process), endpoint, sums, unique, error, tags);
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("process", process.toString());
        told.put("tasks", tasks);
        told.put("endpoint", endpoint == null ? "" : endpoint);
        told.put("unique", unique);
        told.put("error", error);
        told.put("tags", tags);
        return line("SubscriptionInfoData", version, info.encode(), told);
    }

    private Map<String, Object> assignment(int version) {
        List<TaskId> active = new ArrayList<>();
        List<String> activeTold = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            active.add(task(version));
            activeTold.add(active.get(active.size() - 1).toString());
        }
        Map<TaskId, Set<TopicPartition>> standby = new LinkedHashMap<>();
        Map<String, Object> standbyTold = new TreeMap<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            TaskId task = task(version);
            standby.put(task, partitions());
            standbyTold.put(task.toString(), texts(standby.get(task)));
        }
        Map<HostInfo, Set<TopicPartition>> hosts = hosts();
        Map<HostInfo, Set<TopicPartition>> standbyHosts = hosts();
        int error = random.nextInt(3);
        AssignmentInfo info =
            new AssignmentInfo(version, STREAMS_VERSIONS, active, standby, hosts, standbyHosts, error);
        long next = random.nextInt(1 << 30);
        info.setNextRebalanceTime(next);
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("active", activeTold);
        told.put("standby", standbyTold);
        told.put("hosts", hostTexts(hosts));
        told.put("standby_hosts", hostTexts(standbyHosts));
        told.put("error", error);
        told.put("next", next);
        return line("StreamsAssignmentInfo", version, info.encode(), told);
    }

    private TaskId task(int version) {
        String topology = version >= 10 && random.nextInt(3) == 0 ? "named" + random.nextInt(9) : null;
        return new TaskId(random.nextInt(50), random.nextInt(300), topology);
    }

    private Map<HostInfo, Set<TopicPartition>> hosts() {
        Map<HostInfo, Set<TopicPartition>> hosts = new LinkedHashMap<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            hosts.put(new HostInfo("host" + i, 1 + random.nextInt(65535)), partitions());
        }
        return hosts;
    }

    private Set<TopicPartition> partitions() {
        Set<TopicPartition> partitions = new LinkedHashSet<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            partitions.add(new TopicPartition(name(), random.nextInt(300)));
        }
        return partitions;
    }

    private static List<String> texts(Collection<TopicPartition> partitions) {
        List<String> texts = new ArrayList<>();
        partitions.forEach(each -> texts.add(each.toString()));
        texts.sort(null);
        return texts;
    }

    private static Map<String, Object> hostTexts(Map<HostInfo, Set<TopicPartition>> hosts) {
        Map<String, Object> texts = new TreeMap<>();
        hosts.forEach((host, partitions) -> texts.put(host.host() + ":" + host.port(), texts(partitions)));
        return texts;
    }

    private Map<String, Object> worker(int version) {
        String url = "http://" + name() + ":8083/";
        long offset = random.nextInt(100) - 1;
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("url", url);
        told.put("offset", offset);
        if (version == 0) {
            ConnectProtocol.WorkerState state = new ConnectProtocol.WorkerState(url, offset);
            return line("ConnectSubscription", version, ConnectProtocol.serializeMetadata(state), told);
        }
        Map<String, Object> runs = new LinkedHashMap<>();
        ExtendedAssignment now = random.nextInt(3) == 0 ? null : extended(version, runs);
        told.put("allocation", now == null ? null : runs);
        ByteBuffer bytes = IncrementalCooperativeConnectProtocol
            .serializeMetadata(new ExtendedWorkerState(url, offset, now), version == 2);
        return line("ConnectSubscription", version, bytes, told);
    }

    private Map<String, Object> work(int version) {
        Map<String, Object> told = new LinkedHashMap<>();
        if (version == 0) {
            List<ConnectorTaskId> tasks = tasks();
            List<String> connectors = connectors();
            ConnectProtocol.Assignment work = new ConnectProtocol.Assignment(
                (short) random.nextInt(2), "leader", "http://leader/", random.nextInt(100), connectors, tasks);
            told.put("error", work.error());
            told.put("offset", work.offset());
            told.put("assigned", texts(connectors, tasks));
            return line("ConnectAssignment", version, ConnectProtocol.serializeAssignment(work), told);
        }
        ExtendedAssignment work = extended(version, told);
        return line("ConnectAssignment", version,
            IncrementalCooperativeConnectProtocol.serializeAssignment(work, version == 2), told);
    }

    private ExtendedAssignment extended(int version, Map<String, Object> told) {
        List<ConnectorTaskId> tasks = tasks();
        List<ConnectorTaskId> revokedTasks = tasks();
        List<String> connectors = connectors();
        List<String> revoked = connectors();
        ExtendedAssignment work = new ExtendedAssignment((short) version, (short) random.nextInt(2), "leader",
            "http://leader/", random.nextInt(100), connectors, tasks, revoked, revokedTasks, random.nextInt(300));
        told.put("error", work.error());
        told.put("offset", work.offset());
        told.put("assigned", texts(connectors, tasks));
        told.put("revoked", texts(revoked, revokedTasks));
        told.put("delay", work.delay());
        return work;
    }

    private List<ConnectorTaskId> tasks() {
        Set<ConnectorTaskId> tasks = new LinkedHashSet<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            tasks.add(new ConnectorTaskId(name(), random.nextInt(9)));
        }
        return new ArrayList<>(tasks);
    }

    private List<String> connectors() {
        Set<String> connectors = new LinkedHashSet<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            connectors.add(name());
        }
        return new ArrayList<>(connectors);
    }

    /** A connector itself is its task -1. */
    private static List<String> texts(List<String> connectors, List<ConnectorTaskId> tasks) {
        List<String> texts = new ArrayList<>();
        connectors.forEach(each -> texts.add(each + "-" + ConnectProtocol.CONNECTOR_TASK));
        tasks.forEach(each -> texts.add(each.connector() + "-" + each.task()));
        texts.sort(null);
        return texts;
    }

    private String name() {
        return NAMES[random.nextInt(NAMES.length)];
    }
}
