package cardpayments.testing;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * How to start a server.
 *
 * @param fixtures a file of fixtures for the first account, or null
 * @param sample whether to use the built-in fixtures
 * @param log a file for the server's log, or null
 * @param program the program; by default card-payments on the PATH
 */
public record Options(Path fixtures, boolean sample, Path log, String program) {
    /** Returns the defaults. */
    public Options() {
        this(null, false, null, "card-payments");
    }

    /** Returns these options with a file of fixtures. */
    public Options withFixtures(Path fixtures) {
        return new Options(fixtures, sample, log, program);
    }

    /** Returns these options with the built-in fixtures. */
    public Options withSample() {
        return new Options(fixtures, true, log, program);
    }

    /** Returns these options with a file for the server's log. */
    public Options withLog(Path log) {
        return new Options(fixtures, sample, log, program);
    }

    /** Returns these options with another program. */
    public Options withProgram(String program) {
        return new Options(fixtures, sample, log, program);
    }

    List<String> command() {
        var command = new ArrayList<>(List.of(program, "exec", "--json"));
        if (fixtures != null) {
            command.addAll(List.of("--fixtures", fixtures.toString()));
        }
        if (sample) {
            command.add("--sample");
        }
        if (log != null) {
            command.addAll(List.of("--log", log.toString()));
        }
        return command;
    }
}
