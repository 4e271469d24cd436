import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import Stripe from 'stripe';
import { closeServer } from './close-server.ts';
import {
  type Params,
  StripeModel,
  type StripeObject,
  StripeRefusal,
  subscriptionOf,
  textOf,
} from './stripe-model.ts';

export const STRIPE_WEBHOOK_SECRET = 'whsec_of_the_stand_in';
export const STRIPE_KEY = 'sk_test_stand_in';

/** A stand-in for Stripe: it keeps objects as Stripe does, and signs events about them. */
export interface StripeStandIn {
  url: string;
  model: StripeModel;
  /** Checkout sessions by id, the oldest first. */
  sessions(): StripeObject[];
  /** The number of next requests to answer with 500. */
  failNext: number;
  /** Requests as `POST /v1/customers`. */
  requests: string[];
  /** The body and signature of an event about an object. */
  event(type: string, object: Record<string, unknown>): { body: string; signature: string };
  close(): Promise<void>;
}

export async function openStripeStandIn(nowMs = Date.parse('2026-03-04T10:00:00Z')): Promise<StripeStandIn> {
  const model = new StripeModel(nowMs);
  const answers = new Map<string, { status: number; body: unknown }>();
  const standIn = { failNext: 0, requests: [] as string[] };
  const server = createServer((request, response) => {
    void readBody(request).then((form) => {
      const address = new URL(request.url ?? '', 'http://stripe.test');
      standIn.requests.push(`${request.method} ${address.pathname}`);
      const key = String(request.headers['idempotency-key'] ?? '');
      const { status, body } = answers.get(key) ?? answer(request, address, form);
      // Stripe repeats its answer to an idempotency key. Its client sends keys of its own with each POST.
      if (key !== '' && status !== 500) answers.set(key, { status, body });
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });

  function answer({ method, headers }: IncomingMessage, address: URL, form: URLSearchParams) {
    if (standIn.failNext > 0) {
      standIn.failNext -= 1;
      return { status: 500, body: { error: { type: 'api_error', message: 'out of order' } } };
    }
    if (headers.authorization !== `Bearer ${STRIPE_KEY}`)
      return { status: 401, body: { error: { type: 'invalid_request_error', message: 'no' } } };
    const params = nested(method === 'GET' ? address.searchParams : form);
    try {
      const body = route(model, `${method} ${address.pathname.replace('/v1/', '')}`, params, url);
      return { status: 200, body };
    } catch (error) {
      if (!(error instanceof StripeRefusal)) throw error;
      const { status, code, message } = error;
      const type = status === 402 ? 'card_error' : 'invalid_request_error';
      return { status, body: { error: { type, code, message } } };
    }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stripe = new Stripe(STRIPE_KEY);
  return Object.assign(standIn, {
    url,
    model,
    sessions: () => model.all('checkout.session'),
    event(type: string, object: Record<string, unknown>) {
      const body = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object } });
      const signature = stripe.webhooks.generateTestHeaderString({
        payload: body,
        secret: STRIPE_WEBHOOK_SECRET,
      });
      return { body, signature };
    },
    close: () => closeServer(server),
  });
}

async function readBody(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}

/** `items[0][quantity]=2` becomes `{ items: { 0: { quantity: '2' } } }`. */
function nested(form: URLSearchParams): Params {
  const params: Params = {};
  for (const [name, value] of form) {
    const path = name.split(/[[\]]+/).filter((part) => part !== '');
    const last = path.pop() ?? '';
    let inner = params;
    for (const part of path) {
      inner[part] ??= {};
      inner = inner[part] as Params;
    }
    inner[last] = value;
  }
  return params;
}

type Route = (model: StripeModel, params: Params, id: string, url: string) => unknown;

const list = (data: readonly StripeObject[]) => ({ object: 'list', has_more: false, data });
/** Lists come the newest first; a filter is a field of the object. */
const listOf =
  (kind: string, ...filters: readonly string[]): Route =>
  (model, params) =>
    list(
      model
        .all(kind)
        .filter((one) =>
          filters.every((name) => params[name] === undefined || params[name] === fieldOf(one, name)),
        )
        .toReversed()
        .slice(0, Number(params.limit ?? 10)),
    );

/** Invoices name their subscription in a field of a field. */
const fieldOf = (one: StripeObject, name: string) =>
  one.object === 'invoice' && name === 'subscription' ? subscriptionOf(one) : one[name];

const ROUTES: Readonly<Record<string, Route>> = {
  'POST customers': (model, params) => model.add('customer', 'cus', { ...params, invoice_settings: {} }),
  'GET customers/:id': (model, _params, id) => model.get(id),
  'GET payment_methods': listOf('payment_method', 'customer'),
  'POST products': (model, params) => {
    if (model.objects.has(textOf(params.id)))
      throw new StripeRefusal(400, 'resource_already_exists', 'Product already exists.');
    return model.add('product', 'prod', params, textOf(params.id));
  },
  'POST coupons': (model, params) => {
    if (model.objects.has(textOf(params.id)))
      throw new StripeRefusal(400, 'resource_already_exists', 'Coupon already exists.');
    const { id, amount_off, duration_in_months } = params;
    const numbers = { amount_off: Number(amount_off), duration_in_months: Number(duration_in_months) };
    return model.add(
      'coupon',
      'coupon',
      { ...params, ...numbers },
      id === undefined ? undefined : textOf(id),
    );
  },
  'POST checkout/sessions': (model, params, _id, url) => {
    const session = model.add('checkout.session', 'cs_test', {
      ...params,
      params,
      payment_status: 'unpaid',
      status: 'open',
      subscription: null,
    });
    return Object.assign(session, { url: `${url}/pay/${session.id}` });
  },
  'GET checkout/sessions/:id': (model, { expand }, id) => {
    const session = model.get(id);
    if (expand === undefined || typeof session.subscription !== 'string') return session;
    return { ...session, subscription: model.get(session.subscription) };
  },
  'POST checkout/sessions/:id/expire': (model, _params, id) => model.expire(id),
  'GET subscriptions/:id': (model, _params, id) => model.get(id),
  'POST subscriptions/:id': (model, params, id) => model.update(id, params),
  'DELETE subscriptions/:id': (model, _params, id) => model.cancel(id),
  'GET invoices': listOf('invoice', 'customer', 'status', 'subscription'),
  'GET payment_intents': listOf('payment_intent', 'customer'),
  'POST payment_intents': (model, { customer, amount, metadata }) => {
    const intent = model.pay(textOf(customer), Number(amount), { metadata });
    if (intent.status !== 'succeeded')
      throw new StripeRefusal(402, 'card_declined', 'Your card was declined.');
    return intent;
  },
  'GET payment_intents/:id': (model, _params, id) => {
    const intent = model.get(id);
    const { latest_charge: charge } = intent;
    return { ...intent, latest_charge: typeof charge === 'string' ? model.get(charge) : null };
  },
  'GET events': (model, params) => {
    const types = Object.values(params.types as Params);
    const since = Number((params.created as Params | undefined)?.gte ?? 0);
    const events = model.events
      .map(({ type, object, created }, i) => ({
        id: `evt_${i}`,
        object: 'event',
        type,
        created,
        data: { object },
      }))
      .filter(({ type, created }) => types.includes(type) && created >= since)
      .toReversed();
    const start = 1 + events.findIndex(({ id }) => id === params.starting_after);
    const limit = Number(params.limit ?? 10);
    return { ...list(events.slice(start, start + limit)), has_more: start + limit < events.length };
  },
  'GET disputes': listOf('dispute', 'payment_intent'),
  'GET charges': listOf('charge', 'customer'),
  'POST billing_portal/sessions': (model, params, _id, url) =>
    model.add('billing_portal.session', 'bps', { ...params, url: `${url}/portal` }),
  'POST invoices/:id/void': (model, _params, id) => Object.assign(model.get(id), { status: 'void' }),
};

function route(model: StripeModel, request: string, params: Params, url: string): unknown {
  // An id has an underscore, or is that of a product of ours.
  const id = request.split(/[ /]/).find((part) => /^[a-z]+_(test_)?\d+$/.test(part)) ?? '';
  const found = ROUTES[id === '' ? request : request.replace(id, ':id')];
  if (!found) throw new StripeRefusal(404, 'resource_missing', `Not modelled: ${request}`);
  return found(model, params, id, url);
}
