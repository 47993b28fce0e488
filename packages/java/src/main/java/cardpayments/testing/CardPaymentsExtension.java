package cardpayments.testing;

import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives tests a {@link Server}, one for the whole run, and an {@link Account}, a fresh one for each test, as parameters. A test and its
 * {@code @BeforeEach} methods have the same account, {@code @BeforeAll} methods another one.
 *
 * <p>With the configuration parameter {@code card-payments.url}, or the variable {@code CARD_PAYMENTS_URL}, the tests use a server that
 * runs, with the key in {@code CARD_PAYMENTS_SECRET_KEY}. {@code card-payments.log} is a file for the log of the run's own server.
 */
public final class CardPaymentsExtension implements ParameterResolver {
    private static final Namespace NAMESPACE = Namespace.create(CardPaymentsExtension.class);

    private record Resource(AutoCloseable resource) implements CloseableResource {
        @Override
        public void close() throws Exception {
            resource.close();
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        var type = parameter.getParameter().getType();
        // A constructor is called before there is a context of its test.
        return type == Server.class || type == Account.class && parameter.getDeclaringExecutable() instanceof Method;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Server.class ? server(context) : account(context);
    }

    private static Server server(ExtensionContext context) {
        return (Server) resource(context.getRoot(), () -> open(context));
    }

    private static Account account(ExtensionContext context) {
        return (Account) resource(context, () -> server(context).createAccount());
    }

    /** Returns the resource of a context, which JUnit closes at its end. */
    private static AutoCloseable resource(ExtensionContext context, Supplier<AutoCloseable> create) {
        // A store also finds what the contexts around it hold, hence the id.
        var store = context.getStore(NAMESPACE);
        return store.getOrComputeIfAbsent(context.getUniqueId(), id -> new Resource(create.get()), Resource.class).resource();
    }

    private static Server open(ExtensionContext context) {
        var url = context.getConfigurationParameter("card-payments.url").orElse(System.getenv("CARD_PAYMENTS_URL"));
        if (url == null) {
            var log = context.getConfigurationParameter("card-payments.log").map(Path::of).orElse(null);
            return Server.start(new Options().withLog(log));
        }
        var key = System.getenv("CARD_PAYMENTS_SECRET_KEY");
        if (key == null) {
            throw new ExtensionConfigurationException(url + " needs the key of an account in CARD_PAYMENTS_SECRET_KEY");
        }
        return Server.connect(url, key);
    }
}
