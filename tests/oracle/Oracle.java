import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.RequestHeaderDataJsonConverter;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.message.ResponseHeaderDataJsonConverter;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;

/**
 * Writes what Kafka's own message classes write: for every generated class on the class path, at every version that it
 * has, a few messages as one JSON object per line, with the values that Kafka's JsonConverter gives and the bytes.
 *
 * Usage: Oracle JAR_DIRECTORY OUTPUT. The same jars always give the same output.
 */
public final class Oracle {
    /** What the messages of a layout are like, in order. */
    private enum Variant { DEFAULTS, NULLS, FULL, RANDOM_1, RANDOM_2, RANDOM_3 }

    private static final int FLIPS = 3;
    private static final String[] TEXTS = {"", "a", "topic-ü€😀", "some-name"};
    private static final int[] LONG = {126, 127, 128, 300};
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Random random;
    private final Variant variant;
    private boolean recordsMayBeNull = true;

    private Oracle(Random random, Variant variant) {
        this.random = random;
        this.variant = variant;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, ApiMessageType> apis = new TreeMap<>();
        for (ApiMessageType api : ApiMessageType.values()) {
            try {
                apis.put(api.newRequest().getClass().getSimpleName(), api);
                apis.put(api.newResponse().getClass().getSimpleName(), api);
            } catch (UnsupportedVersionException removed) {
                // A key whose every version this release has dropped.
            }
        }
        try (BufferedWriter out = Files.newBufferedWriter(Path.of(arguments[1]))) {
            for (String name : messageClasses(new File(arguments[0]))) {
                Class<?> message = Class.forName(name);
                Schema[] versions = (Schema[]) message.getField("SCHEMAS").get(null);
                for (short version = 0; version < versions.length; version++) {
                    if (versions[version] == null) {
                        continue;
                    }
                    for (Variant variant : Variant.values()) {
                        out.write(JSON.writeValueAsString(vector(message, versions[version], version, variant, apis)));
                        out.write('\n');
                    }
                }
            }
        }
    }

    /** The generated classes that have a converter, in order of name. */
    private static TreeSet<String> messageClasses(File directory) throws IOException {
        TreeSet<String> found = new TreeSet<>();
        for (File jar : directory.listFiles((folder, name) -> name.startsWith("kafka-"))) {
            try (JarFile entries = new JarFile(jar)) {
                for (JarEntry entry : (Iterable<JarEntry>) entries.stream()::iterator) {
                    String name = entry.getName();
                    if (name.endsWith("JsonConverter.class") && name.indexOf('$') < 0) {
                        found.add(name.replace("JsonConverter.class", "").replace('/', '.'));
                    }
                }
            }
        }
        return found;
    }

    private static ObjectNode vector(
        Class<?> type, Schema schema, short version, Variant variant, Map<String, ApiMessageType> apis
    ) throws Exception {
        String name = type.getSimpleName();
        Random random = new Random((name + " " + version + " " + variant).hashCode());
        Oracle oracle = new Oracle(random, variant);
        ObjectNode out = JSON.createObjectNode();
        ApiMessage message;
        byte[] body;
        while (true) {
            message = (ApiMessage) type.getConstructor().newInstance();
            oracle.fill(message, schema, 0);
            try {
                body = bytes(message, version);
                break;
            } catch (NullPointerException error) {
                // Kafka's schemas call every records field nullable, its classes do not.
                if (!oracle.recordsMayBeNull) {
                    throw error;
                }
                oracle.recordsMayBeNull = false;
            }
        }
        ApiMessageType api = apis.get(name);
        out.put("name", api == null ? name : api.name).put("version", version);
        byte[] header = new byte[0];
        if (api != null) {
            boolean request = name.equals(api.newRequest().getClass().getSimpleName());
            out.put("key", api.apiKey()).put("kind", request ? "request" : "response");
            header = oracle.header(out, api, version, request);
        } else if (message.apiKey() >= 0) {
            out.put("record", message.apiKey());
        }
        out.set("body", json(message, version));
        if (!message.unknownTaggedFields().isEmpty()) {
            ArrayNode tags = out.putArray("unknown");
            for (RawTaggedField tag : message.unknownTaggedFields()) {
                tags.addArray().add(tag.tag()).add(tag.data());
            }
        }
        byte[] whole = concat(header, body);
        out.put("bytes", whole);
        if (body.length > 0) {
            ArrayNode flips = out.putArray("flips");
            for (int i = 0; i < FLIPS; i++) {
                flip(flips.addArray(), type, body, version, header.length, random);
            }
        }
        return out;
    }

    private byte[] header(ObjectNode out, ApiMessageType api, short version, boolean request) {
        int correlation = number(32).intValue();
        if (!request) {
            short at = api.responseHeaderVersion(version);
            ResponseHeaderData header = new ResponseHeaderData().setCorrelationId(correlation);
            out.put("header_version", at).set("header", ResponseHeaderDataJsonConverter.write(header, at));
            return bytes(header, at);
        }
        short at = api.requestHeaderVersion(version);
        RequestHeaderData header = new RequestHeaderData();
        header.setRequestApiKey(api.apiKey()).setRequestApiVersion(version).setCorrelationId(correlation);
        if (at > 0) {
            header.setClientId(random.nextInt(4) == 0 ? null : text());
        }
        out.put("header_version", at).set("header", RequestHeaderDataJsonConverter.write(header, at));
        return bytes(header, at);
    }

    /** Another value for one byte of the body: what Kafka reads then, and how it would write it. */
    private static void flip(ArrayNode out, Class<?> type, byte[] body, short version, int before, Random random)
        throws Exception {
        byte[] bad = body.clone();
        int at = random.nextInt(body.length);
        bad[at] ^= (byte) (random.nextInt(3) == 0 ? 1 << random.nextInt(8) : 1 + random.nextInt(255));
        out.add(before + at).add(bad[at] & 0xff);
        ByteBuffer buffer = ByteBuffer.wrap(bad);
        Message read = (Message) type.getConstructor().newInstance();
        try {
            read.read(new ByteBufferAccessor(buffer), version);
        } catch (RuntimeException error) {
            return;
        }
        out.add(buffer.remaining());
        byte[] again = bytes(read, version);
        if (!Arrays.equals(again, Arrays.copyOf(bad, buffer.position()))) {
            out.add(again);
        }
    }

    private static byte[] bytes(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException(message + " is smaller than it says");
        }
        return buffer.array();
    }

    private static JsonNode json(Message message, short version) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        return (JsonNode) converter.getMethod("write", message.getClass(), short.class, boolean.class)
            .invoke(null, message, version, false);
    }

    private static byte[] concat(byte[] one, byte[] other) {
        byte[] both = Arrays.copyOf(one, one.length + other.length);
        System.arraycopy(other, 0, both, one.length, other.length);
        return both;
    }

    private void fill(Object struct, Schema schema, int depth) throws Exception {
        for (BoundField bound : schema.fields()) {
            if (!(bound.def.type instanceof TaggedFields)) {
                set(struct, bound.def, depth);
                continue;
            }
            for (org.apache.kafka.common.protocol.types.Field tagged : tagged((TaggedFields) bound.def.type)) {
                if (!isRandom() || random.nextInt(5) > 1) {
                    set(struct, tagged, depth);
                }
            }
            if (variant == Variant.RANDOM_3 && depth == 0) {
                List<RawTaggedField> unknown = ((Message) struct).unknownTaggedFields();
                unknown.add(new RawTaggedField(100, new byte[0]));
                unknown.add(new RawTaggedField(100000, "unknown".getBytes(StandardCharsets.UTF_8)));
            }
        }
    }

    /** Kafka 3.9 keeps them private. */
    @SuppressWarnings("unchecked")
    private static Collection<org.apache.kafka.common.protocol.types.Field> tagged(TaggedFields section) throws Exception {
        Field fields = TaggedFields.class.getDeclaredField("fields");
        fields.setAccessible(true);
        return ((Map<Integer, org.apache.kafka.common.protocol.types.Field>) fields.get(section)).values();
    }

    private boolean isRandom() {
        return variant.ordinal() >= Variant.RANDOM_1.ordinal();
    }

    private void set(Object struct, org.apache.kafka.common.protocol.types.Field said, int depth) throws Exception {
        if (variant == Variant.DEFAULTS) {
            return;
        }
        Field field = null;
        for (Field candidate : struct.getClass().getDeclaredFields()) {
            if (candidate.getName().equalsIgnoreCase(said.name.replace("_", ""))) {
                field = candidate;
            }
        }
        if (field == null) {
            throw new IllegalStateException(struct.getClass() + " has no " + said.name);
        }
        field.setAccessible(true);
        boolean records = isRecords(field.getType());
        boolean mayBeNull = said.type.isNullable() && (!records || recordsMayBeNull);
        if (mayBeNull && (variant == Variant.NULLS || isRandom() && random.nextInt(10) < 3)) {
            field.set(struct, null);
        } else if (variant != Variant.NULLS || field.get(struct) == null || said.type instanceof Schema) {
            field.set(struct, value(field.getType(), field.getGenericType(), said.type, depth));
        }
    }

    @SuppressWarnings("unchecked")
    private Object value(Class<?> type, Type generic, org.apache.kafka.common.protocol.types.Type said, int depth)
        throws Exception {
        if (type == boolean.class || type == Boolean.class) {
            return random.nextBoolean();
        } else if (type == byte.class || type == Byte.class) {
            return number(8).byteValue();
        } else if (type == short.class || type == Short.class) {
            return number(16).shortValue();
        } else if (type == int.class || type == Integer.class) {
            // Java has no uint16: Kafka keeps it in an int.
            return said.toString().equals("UINT16") ? pick(0, 9092, 65535) : number(32).intValue();
        } else if (type == long.class || type == Long.class) {
            return said.toString().equals("UINT32") ? (Object) (long) pick(0, 1, Integer.MAX_VALUE) : number(64);
        } else if (type == double.class) {
            return new double[] {0.0, -1.5, 1e300, 0.1}[random.nextInt(4)];
        } else if (type == String.class) {
            return text();
        } else if (type == byte[].class) {
            return content();
        } else if (type == ByteBuffer.class) {
            return ByteBuffer.wrap(content());
        } else if (type == Uuid.class) {
            return random.nextInt(4) == 0 ? Uuid.ZERO_UUID : new Uuid(number(64), random.nextLong());
        } else if (isRecords(type)) {
            return records(type.getPackageName());
        } else if (Collection.class.isAssignableFrom(type)) {
            Type list = type == List.class ? generic : type.getGenericSuperclass();
            Class<?> element = (Class<?>) ((ParameterizedType) list).getActualTypeArguments()[0];
            Collection<Object> all = type == List.class ? new java.util.ArrayList<>()
                : (Collection<Object>) type.getConstructor().newInstance();
            org.apache.kafka.common.protocol.types.Type inner = said.arrayElementType().get();
            int size = variant == Variant.NULLS ? 0 : variant == Variant.FULL ? 1 + random.nextInt(2)
                : depth < 3 ? pick(0, 1, 1, 2, 3) : pick(0, 1);
            if (isRandom() && !(inner instanceof Schema) && random.nextInt(20) == 0) {
                size = pick(31, 32, 130);
            }
            for (int i = 0; i < size; i++) {
                all.add(value(element, element, inner, depth + 1));
            }
            return all;
        }
        Constructor<?> constructor = type.getConstructor();
        Object struct = constructor.newInstance();
        fill(struct, (Schema) said, depth + 1);
        return struct;
    }

    private Long number(int bits) {
        long edge = 1L << bits - 1;
        switch (random.nextInt(6)) {
            case 0: return 0L;
            case 1: return -1L;
            case 2: return edge - 1;
            case 3: return -edge;
            case 4: return random.nextLong() >> 64 - bits;
            default: return (long) random.nextInt(100);
        }
    }

    private int pick(int... choices) {
        return choices[random.nextInt(choices.length)];
    }

    private String text() {
        return random.nextInt(12) == 0 ? "x".repeat(pick(LONG)) : TEXTS[random.nextInt(TEXTS.length)];
    }

    private byte[] content() {
        byte[] content = new byte[random.nextInt(12) == 0 ? pick(LONG) : pick(0, 1, 16)];
        Arrays.fill(content, (byte) random.nextInt(256));
        return content;
    }

    /** By name, since Kafka 4.4 has moved the class. */
    private static boolean isRecords(Class<?> type) {
        return type.getSimpleName().equals("BaseRecords");
    }

    /** Bytes that follow from their number, since the JSON form of records is that number alone. */
    private Object records(String home) throws ReflectiveOperationException {
        byte[] content = new byte[pick(0, 1, 61, 127, 128, 300)];
        for (int i = 0; i < content.length; i++) {
            content[i] = (byte) (7 * i + content.length);
        }
        return Class.forName(home + ".MemoryRecords")
            .getMethod("readableRecords", ByteBuffer.class).invoke(null, ByteBuffer.wrap(content));
    }
}
