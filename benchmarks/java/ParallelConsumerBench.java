import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Confluent's parallel-consumer, ordered by key, twice in one JVM: the first time cold, the second time warm.
 *
 * <p>Arguments: bootstrap, topic, group, events, concurrency, wait in ms, seconds until it is stopped. It does not
 * decode the value, which is to its advantage. One line of JSON for each time.
 */
public final class ParallelConsumerBench {
    private static final double NANOS = 1e9;

    private ParallelConsumerBench() {}

    public static void main(String[] arguments) throws Exception {
        measure("parallel-consumer-cold", arguments, arguments[2] + "-cold");
        measure("parallel-consumer-warm", arguments, arguments[2] + "-warm");
        System.exit(0);
    }

    private static void measure(String system, String[] arguments, String group) throws Exception {
        long events = Long.parseLong(arguments[3]);
        long waitMs = Long.parseLong(arguments[5]);
        long limitNanos = (long) (Double.parseDouble(arguments[6]) * NANOS);
        AtomicLong began = new AtomicLong();
        AtomicLong cpuBegan = new AtomicLong();
        AtomicLong count = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);

        ParallelStreamProcessor<String, byte[]> processor =
                ParallelStreamProcessor.createEosStreamProcessor(
                        ParallelConsumerOptions.<String, byte[]>builder()
                                .ordering(ProcessingOrder.KEY)
                                .maxConcurrency(Integer.parseInt(arguments[4]))
                                .consumer(new KafkaConsumer<>(options(arguments[0], group)))
                                .build());
        processor.subscribe(List.of(arguments[1]));
        processor.poll(context -> {
            if (began.compareAndSet(0, System.nanoTime())) {
                cpuBegan.set(cpuNanos());
            }
            pause(waitMs);
            long handled = count.incrementAndGet();
            if (handled == events || (limitNanos > 0 && System.nanoTime() - began.get() > limitNanos)) {
                done.countDown();
            }
        });
        done.await();
        double seconds = (System.nanoTime() - began.get()) / NANOS;
        double cpuSeconds = (cpuNanos() - cpuBegan.get()) / NANOS;
        System.out.printf(
                Locale.ROOT,
                "{\"bench\": {\"system\": \"%s\", \"events\": %d, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"max_rss_kib\": %d}}%n",
                system, count.get(), seconds, cpuSeconds, peakKib());
        System.out.flush();
        processor.closeDontDrainFirst();
    }

    private static Properties options(String bootstrap, String group) {
        Properties options = new Properties();
        options.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        options.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        options.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        options.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        options.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        options.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
        return options;
    }

    private static void pause(long milliseconds) {
        if (milliseconds == 0) {
            return;
        }
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    private static long peakKib() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        return 0;
    }
}
