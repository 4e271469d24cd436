import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Stripe from 'stripe';

export const STRIPE_WEBHOOK_SECRET = 'whsec_of_the_stand_in';

/** A stand-in for Stripe Checkout, which creates sessions and signs events about them. */
export interface StripeStandIn {
  url: string;
  /** The requested payments by session id. Repeated requests with one idempotency key create one session. */
  sessions: Map<string, Record<string, string>>;
  /** The number of next requests to answer with 500. */
  failNext: number;
  /** The body and signature of an event about a session. */
  event(type: string, session: Record<string, unknown>): { body: string; signature: string };
  close(): Promise<void>;
}

export async function openStripeStandIn(): Promise<StripeStandIn> {
  const sessions = new Map<string, Record<string, string>>();
  const byKey = new Map<string, string>();
  const standIn = { failNext: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (standIn.failNext > 0) {
        standIn.failNext -= 1;
        response.statusCode = 500;
        response.end('{"error":{"type":"api_error","message":"out of order"}}');
        return;
      }
      if (
        request.url !== '/v1/checkout/sessions' ||
        request.headers.authorization !== 'Bearer sk_test_stand_in'
      ) {
        response.statusCode = 401;
        response.end('{"error":{"type":"invalid_request_error","message":"no"}}');
        return;
      }
      const key = String(request.headers['idempotency-key']);
      const id = byKey.get(key) ?? `cs_test_${sessions.size + 1}`;
      byKey.set(key, id);
      sessions.set(id, Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString('utf8'))));
      response.end(JSON.stringify({ id, object: 'checkout.session', url: `${url}/pay/${id}` }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stripe = new Stripe('sk_test_stand_in');
  return Object.assign(standIn, {
    url,
    sessions,
    event(type: string, session: Record<string, unknown>) {
      const body = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object: session } });
      const signature = stripe.webhooks.generateTestHeaderString({
        payload: body,
        secret: STRIPE_WEBHOOK_SECRET,
      });
      return { body, signature };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
