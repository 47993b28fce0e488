package cardpayments.testing.testcontainers;

import cardpayments.testing.Server;
import java.util.UUID;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/** The server in a container, from the image that deploy/Containerfile makes. */
public class CardPaymentsContainer extends GenericContainer<CardPaymentsContainer> {
    private static final int PORT = 8080;

    private final String secretKey = "sk_test_" + UUID.randomUUID().toString().replace("-", "");

    /** Uses the image card-payments. */
    public CardPaymentsContainer() {
        this(DockerImageName.parse("card-payments"));
    }

    /** Uses an image. */
    public CardPaymentsContainer(DockerImageName image) {
        super(image);
        withExposedPorts(PORT);
        withEnv("CARD_PAYMENTS_SECRET_KEY", secretKey);
        waitingFor(Wait.forHttp("/readyz").forPort(PORT));
    }

    /** Returns the server of the container, which is running. */
    public Server connect() {
        return Server.connect("http://" + getHost() + ":" + getMappedPort(PORT), secretKey);
    }
}
