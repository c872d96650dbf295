import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;

/** Named steps of a client program: {@code BOOTSTRAP [key=value...] STEP...}; a failing step is printed. */
final class Steps {
    interface Step {
        Object run(Properties config) throws Exception;
    }

    private final Map<String, Step> steps = new LinkedHashMap<>();

    Steps add(String name, Step step) {
        steps.put(name, step);
        return this;
    }

    void run(String[] words) {
        Properties config = new Properties();
        config.put("bootstrap.servers", words[0]);
        for (String word : words) {
            int equals = word.indexOf('=');
            if (equals > 0) {
                config.put(word.substring(0, equals), word.substring(equals + 1));
            }
        }
        for (int i = 1; i < words.length; i++) {
            if (words[i].indexOf('=') < 0) {
                try {
                    System.out.println("-- " + words[i] + ": " + steps.get(words[i]).run(config));
                } catch (ExecutionException failed) {
                    System.out.println("-- " + words[i] + ": " + failed.getCause());
                } catch (Exception failed) {
                    System.out.println("-- " + words[i] + ": " + failed);
                }
            }
        }
    }

    static Properties with(Properties config, Object... pairs) {
        Properties copy = new Properties();
        copy.putAll(config);
        for (int i = 0; i < pairs.length; i += 2) {
            copy.put(pairs[i], pairs[i + 1]);
        }
        return copy;
    }
}
