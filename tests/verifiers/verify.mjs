import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_KEY);

const server = createServer(async (request, response) => {
  try {
    const event = webhook.verify(await text(request), request.headers);
    console.log(event.token, event.type);
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
});
server.listen(process.env.PORT ?? 9000, "127.0.0.1", () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
