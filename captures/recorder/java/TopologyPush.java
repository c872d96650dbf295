import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.kafka.common.message.StreamsGroupTopologyDescriptionUpdateRequestData;
import org.apache.kafka.common.message.StreamsGroupTopologyDescriptionUpdateRequestData.TopologyDescription;
import org.apache.kafka.common.message.StreamsGroupTopologyDescriptionUpdateRequestData.TopologyDescriptionNode;
import org.apache.kafka.common.message.StreamsGroupTopologyDescriptionUpdateRequestData.TopologyDescriptionSubtopology;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.StreamsGroupTopologyDescriptionUpdateRequest;

/**
 * Sends a StreamsGroupTopologyDescriptionUpdate, which kafka-streams before 4.4 does not know. Its bytes are made
 * by kafka-clients 4.4; the broker answers that the member is unknown.
 */
public final class TopologyPush {
    private TopologyPush() {
    }

    public static void main(String[] words) {
        new Steps().add("push", config -> push(config.getProperty("bootstrap.servers").split(",")[0])).run(words);
    }

    private static TopologyDescriptionNode node(int type, String name, String... successors) {
        return new TopologyDescriptionNode().setName(name).setNodeType((byte) type).setSuccessors(List.of(successors));
    }

    static Object push(String broker) throws Exception {
        TopologyDescriptionSubtopology subtopology = new TopologyDescriptionSubtopology().setSubtopologyId("0").setNodes(List.of(
            node(1, "KSTREAM-SOURCE-0000000000", "KSTREAM-AGGREGATE-0000000003").setSourceTopics(List.of("orders")),
            node(2, "KSTREAM-AGGREGATE-0000000003", "KSTREAM-SINK-0000000008").setStores(List.of("counts-store")),
            node(3, "KSTREAM-SINK-0000000008").setSinkTopic("counts")));
        StreamsGroupTopologyDescriptionUpdateRequestData data = new StreamsGroupTopologyDescriptionUpdateRequestData()
            .setGroupId("streams-app").setMemberId("no-such-member").setTopologyEpoch(0)
            .setTopologyDescription(new TopologyDescription().setSubtopologies(List.of(subtopology)));
        RequestHeader header = new RequestHeader(ApiKeys.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, (short) 0, "java-push", 1);
        ByteBuffer bytes = new StreamsGroupTopologyDescriptionUpdateRequest(data, (short) 0).serializeWithHeader(header);
        String[] address = broker.split(":");
        try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(bytes.remaining());
            out.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
            out.flush();
            DataInputStream in = new DataInputStream(socket.getInputStream());
            return in.readNBytes(in.readInt()).length + " bytes came back";
        }
    }
}
