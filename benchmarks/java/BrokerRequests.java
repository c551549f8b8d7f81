import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Tells as one line of JSON how many requests a broker has answered since it started, by their kind. Argument: JMX port. */
public final class BrokerRequests {
    private BrokerRequests() {}

    public static void main(String[] arguments) throws Exception {
        String address = "service:jmx:rmi:///jndi/rmi://127.0.0.1:" + arguments[0] + "/jmxrmi";
        Map<String, Long> counts = new TreeMap<>();
        try (JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(address))) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            ObjectName pattern = new ObjectName("kafka.network:type=RequestMetrics,name=RequestsPerSec,*");
            for (ObjectName name : server.queryNames(pattern, null)) {
                counts.merge(name.getKeyProperty("request"), (Long) server.getAttribute(name, "Count"), Long::sum);
            }
        }
        System.out.println(counts.entrySet().stream()
                .map(entry -> "\"" + entry.getKey() + "\": " + entry.getValue())
                .collect(Collectors.joining(", ", "{", "}")));
    }
}
