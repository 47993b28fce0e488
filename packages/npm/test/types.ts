// Compiles as long as the types allow what the documents show. It never runs.
import { ApiError, connect, start, type Account, type Inbox, type Server } from "card-payments";
import { CardPaymentsContainer } from "card-payments/testcontainers.js";

interface Charge {
  token: string;
  amount: number;
}

export async function ofAServer(account: Account): Promise<string | undefined> {
  const charge = await account.request<Charge>("POST", "/1/charges", { amount: 400 });
  const ran = await account.moveClock("7d");
  await account.moveClock({ to: "2030-01-01" });
  const { decline } = await account.setFaults({ decline: "expired_card" });
  const inbox: Inbox = await account.openInbox();
  const { every } = await inbox.answer({ status: 503, fault: "hang", every: 2 });
  const [delivery] = await inbox.deliveries(2, { timeout: 1 });
  const event = await inbox.waitFor("charge.captured");
  await account.delete();
  return `${charge.amount + every} ${ran[0]?.what} ${decline} ${delivery?.signature_error} ${event.data.token}`;
}

export async function ofTests(): Promise<Account[]> {
  const server: Server = await start({ sample: true, log: "server.log" });
  const container = await new CardPaymentsContainer("card-payments").withReuse().start();
  const servers = [server, connect(server.url, server.secretKey), container.connect()];
  try {
    return await Promise.all(servers.map((server) => server.createAccount()));
  } catch (error) {
    if (error instanceof ApiError) console.error(error.status, error.code, error.body);
    throw error;
  } finally {
    await server.stop();
    await container.stop();
  }
}

// @ts-expect-error: a fault is one of two.
export const wrong = (inbox: Inbox) => inbox.answer({ fault: "explode" });
