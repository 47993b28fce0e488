package cardpayments.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** What the extension gives to tests, and takes away after them. */
@ExtendWith(CardPaymentsExtension.class)
class CardPaymentsExtensionTest {
    private static final Set<String> KEYS = new HashSet<>();

    private static Account ofClass;
    private Account prepared;

    @BeforeAll
    static void prepareClass(Account account) {
        ofClass = account;
    }

    @BeforeEach
    void prepare(Account account) {
        prepared = account;
    }

    @Test
    void aTestHasTheAccountOfItsPreparation(Account account) {
        assertSame(prepared, account);
        assertNotSame(ofClass, account);
    }

    @RepeatedTest(200)
    void eachTestHasAnAccountOfItsOwn(Account account, Server server) {
        assertEquals(account.url(), server.url());
        assertTrue(KEYS.add(account.secretKey()));
    }

    @AfterAll
    static void accountsAreGone(Server server) {
        for (var key : KEYS) {
            var account = Server.connect(server.url(), key);
            assertEquals(401, assertThrows(ApiException.class, () -> account.request("GET", "/1/balance")).status());
        }
    }

    @ExtendWith(CardPaymentsExtension.class)
    static class WithConstructor {
        WithConstructor(Account account) {}

        @Test
        void test() {}
    }

    @Test
    void aConstructorHasNoAccount() {
        var listener = new SummaryGeneratingListener();
        var request = LauncherDiscoveryRequestBuilder.request().selectors(selectClass(WithConstructor.class)).build();
        LauncherFactory.create().execute(request, listener);
        var failures = listener.getSummary().getFailures();
        assertInstanceOf(ParameterResolutionException.class, failures.get(0).getException());
    }

    @ExtendWith(CardPaymentsExtension.class)
    static class BesideServer {
        @Test
        void usesTheServer(Server server, Account account) {
            assertEquals(System.getenv("CARD_PAYMENTS_URL"), server.url());
            assertEquals(server.url(), account.url());
        }
    }

    private static Process startBeside(String... start) throws IOException {
        var command = new ArrayList<>(List.of(start));
        command.addAll(List.of("java", "-cp", System.getProperty("java.class.path"), "org.junit.platform.console.ConsoleLauncher"));
        command.addAll(List.of("--disable-banner", "--details=none", "--select-class=" + BesideServer.class.getName()));
        return new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    }

    @Test
    void testsBesideARunningServerUseIt(Server server) throws Exception {
        var withKey = startBeside("card-payments", "exec", "--");
        var withoutKey = startBeside("env", "CARD_PAYMENTS_URL=" + server.url());
        assertEquals(0, withKey.waitFor());
        assertEquals(1, withoutKey.waitFor());
    }
}
