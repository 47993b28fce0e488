import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_KEY);
// The ids of the events that were processed; in production, a unique column of your database.
const seen = new Set();

const server = createServer(async (request, response) => {
  try {
    // Compares in constant time, and refuses a timestamp over five minutes off the clock.
    const event = webhook.verify(await text(request), request.headers);
    if (!seen.has(request.headers["webhook-id"])) {
      seen.add(request.headers["webhook-id"]);
      console.log(event.token, event.type);
    }
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
});
server.listen(process.env.PORT ?? 9000, "127.0.0.1", () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
