package cardpayments.client;

import cardpayments.client.model.WalletAToken;
import cardpayments.client.model.WalletGToken;
import cardpayments.client.model.WalletSource;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import java.io.IOException;

/** Tells records apart that come at one place. The generated code could do so only if it refused the fields of newer servers. */
final class Alternatives {
    private Alternatives() {}

    static ObjectMapper addTo(ObjectMapper mapper) {
        return mapper.addMixIn(WalletSource.class, WalletSourceMixIn.class);
    }

    @JsonDeserialize(using = WalletSourceReader.class)
    private interface WalletSourceMixIn {}

    static final class WalletSourceReader extends JsonDeserializer<WalletSource> {
        @Override
        public WalletSource deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            var tree = context.readTree(parser);
            return tree.has("protocolVersion")
                    ? new WalletSource(context.readTreeAsValue(tree, WalletGToken.class))
                    : new WalletSource(context.readTreeAsValue(tree, WalletAToken.class));
        }
    }
}
