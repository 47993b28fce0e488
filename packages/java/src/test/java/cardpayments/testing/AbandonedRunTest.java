package cardpayments.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs that end without closing anything leave no server. */
@Timeout(240)
class AbandonedRunTest {
    /** Prints the process of its server, and then ends or waits to be killed. */
    static final class Run {
        public static void main(String[] arguments) throws InterruptedException {
            Server.start().createAccount();
            System.out.println(ProcessHandle.current().children().findFirst().orElseThrow().pid());
            if (arguments[0].equals("wait")) {
                Thread.currentThread().join();
            }
        }

        static Process start(String what) throws IOException {
            var command = new ProcessBuilder("java", "-cp", System.getProperty("java.class.path"), Run.class.getName(), what);
            return command.redirectError(Redirect.INHERIT).start();
        }
    }

    private static void awaitEndOfServer(String pid) throws Exception {
        var server = ProcessHandle.of(Long.parseLong(pid));
        if (server.isPresent()) {
            server.get().onExit().get(120, TimeUnit.SECONDS);
        }
    }

    @Test
    void aRunThatForgetsItsServerEndsAndTheServerWithIt() throws Exception {
        var run = Run.start("end");
        var server = run.inputReader().readLine();
        assertEquals(0, run.waitFor());
        awaitEndOfServer(server);
    }

    @Test
    void theServerOfAKilledRunEnds() throws Exception {
        var run = Run.start("wait");
        var server = run.inputReader().readLine();
        run.destroyForcibly().waitFor();
        awaitEndOfServer(server);
    }
}
