import type { ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Attempt } from '../../src/outbox/queue.ts';
import { createAddressGuard, type Resolve } from '../../src/outbox/webhooks/address-guard.ts';
import { createSend, type Message } from '../../src/outbox/webhooks/webhook-sender.ts';
import { TestClock } from '../support/clock.ts';
import { openReceiver, type Receiver } from '../support/receiver.ts';

let clock: TestClock;
let receiver: Receiver;
beforeEach(async () => {
  clock = new TestClock();
  receiver = await openReceiver();
});
afterEach(() => receiver.close());

const local: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];

function send(url: string, resolve: Resolve = local, allowPrivate = true): Promise<Attempt> {
  const message: Message = { url, headers: { 'webhook-id': 'id-1' }, payload: '{"type":"test"}' };
  return createSend({ guard: createAddressGuard(allowPrivate, resolve), clock })(message);
}

/** Answers each request in a way of its own. */
const answer = (write: (response: ServerResponse) => unknown) =>
  receiver.react((_message, response) => {
    write(response);
    return 'handled';
  });

/** The address of the receiver with a name that only the resolver of the test has. */
const named = () => receiver.url.replace('127.0.0.1', 'hooks.test');

test('posts the payload unchanged, as JSON with its headers', async () => {
  answer((response) => response.end('thank you'));
  const outcome = await send(`${receiver.url}/hook?token=1`);
  expect(outcome).toEqual({ status: 200, error: null, isFinal: false, durationMs: 0, response: 'thank you' });
  expect(receiver.received).toEqual([
    expect.objectContaining({
      path: '/hook?token=1',
      body: '{"type":"test"}',
      headers: expect.objectContaining({ 'content-type': 'application/json', 'webhook-id': 'id-1' }),
    }),
  ]);
});

test.each([400, 404, 410, 500, 503])('returns status %d and an error that states it', async (status) => {
  receiver.react(() => status);
  expect(await send(receiver.url)).toMatchObject({
    status,
    error: `The receiver responded with status ${status}.`,
    response: '',
  });
});

describe.each([301, 302, 303, 307, 308])('a redirect with %d', (status) => {
  test('is not followed', async () => {
    const elsewhere = await openReceiver();
    answer((response) => response.writeHead(status, { location: `${elsewhere.url}/internal` }).end());
    const outcome = await send(receiver.url);
    expect(outcome).toMatchObject({ status, error: expect.stringContaining('redirects are not followed') });
    expect(elsewhere.received).toEqual([]);
    await elsewhere.close();
  });
});

describe('the connection', () => {
  test('goes to the address that was checked, even if the name resolves to another one afterwards', async () => {
    const port = Number(new URL(receiver.url).port);
    const inside = await openReceiver({ host: '127.0.0.2', port });
    let asked = 0;
    const rebinding: Resolve = async () => {
      asked += 1;
      return [{ address: asked === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
    };
    expect(await send(named(), rebinding)).toMatchObject({ status: 204 });
    expect(asked).toBe(1);
    expect([receiver.received.length, inside.received.length]).toEqual([1, 0]);
    // The next attempt checks the address again.
    await send(named(), rebinding);
    expect([receiver.received.length, inside.received.length]).toEqual([1, 1]);
    await inside.close();
  });

  test('never goes to a private address, by name or by number', async () => {
    for (const url of [named(), receiver.url, receiver.url.replace('127.0.0.1', '2130706433')]) {
      const outcome = await send(url, local, false);
      expect(outcome).toMatchObject({
        status: null,
        error: expect.stringMatching(/private.*\.$/),
        response: null,
      });
      expect(outcome.error).not.toContain('127.0.0.1');
    }
    expect(receiver.received).toEqual([]);
  });

  test('has the host name of the URL in its Host header', async () => {
    await send(named());
    expect(receiver.received[0]?.headers.host).toBe(new URL(named()).host);
  });
});

describe('a response', () => {
  test('of 5 MB counts by its status, and its first 1,024 bytes are kept', async () => {
    answer((response) => response.writeHead(200).end('x'.repeat(5_000_000)));
    expect(await send(receiver.url)).toMatchObject({ status: 200, error: null, response: 'x'.repeat(1_024) });
  });

  test('that never ends is aborted, and counts by its status', async () => {
    receiver.react((message, response) => {
      response.writeHead(500);
      const write = () => {
        if (!message.aborted) response.write('y'.repeat(10_000), () => setImmediate(write));
      };
      write();
      return 'handled';
    });
    expect(await send(receiver.url)).toMatchObject({ status: 500, response: 'y'.repeat(1_024) });
    await expect.poll(() => receiver.received[0]?.aborted).toBe(true);
  });

  test('that stalls is aborted after ten seconds, and counts by its status', async () => {
    answer((response) => response.writeHead(202).write('almost'));
    const outcome = send(receiver.url);
    await expect.poll(() => receiver.received).toHaveLength(1);
    clock.advance(10_000);
    expect(await outcome).toMatchObject({ status: 202, error: null, durationMs: 10_000 });
    await expect.poll(() => receiver.received[0]?.aborted).toBe(true);
  });

  test('with invalid UTF-8 and null characters is converted to storable text', async () => {
    const bytes = Buffer.concat([Buffer.from('a\0b\xff', 'latin1'), Buffer.from('é'.repeat(600))]);
    answer((response) => response.end(bytes));
    const { response } = await send(receiver.url);
    // The limit of 1,024 bytes splits the last character, which is omitted.
    expect(response).toBe(`a\uFFFDb\uFFFD${'é'.repeat(510)}`);
  });

  test('with headers above the size limit is an error', async () => {
    answer((response) => response.writeHead(200, { 'x-long': 'z'.repeat(40_000) }).end());
    expect(await send(receiver.url)).toMatchObject({
      status: null,
      error: expect.stringContaining('reached'),
    });
  });
});

describe('without a response,', () => {
  test('an attempt ends after exactly ten seconds', async () => {
    receiver.react(() => 'handled');
    let ended = false;
    const outcome = send(receiver.url).finally(() => {
      ended = true;
    });
    await expect.poll(() => receiver.received).toHaveLength(1);
    clock.advance(9_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(false);
    clock.advance(1);
    expect(await outcome).toEqual({
      status: null,
      error: 'The receiver did not answer within 10 seconds.',
      isFinal: false,
      durationMs: 10_000,
      response: null,
    });
  });

  test('an attempt ends after ten seconds if the name server does not respond', async () => {
    const silent: Resolve = (_name, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const outcome = send(named(), silent);
    clock.advance(10_000);
    expect(await outcome).toMatchObject({ status: null, error: expect.stringContaining('10 seconds') });
  });

  test('a name that does not exist is an error', async () => {
    const unknown: Resolve = () =>
      Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    expect(await send(named(), unknown)).toMatchObject({
      status: null,
      error: 'The host name could not be resolved (ENOTFOUND).',
    });
  });

  test('a refused or closed connection is an error', async () => {
    answer((response) => response.destroy());
    expect(await send(receiver.url)).toMatchObject({ status: null, response: null });
    const { url } = receiver;
    await receiver.close();
    expect(await send(url)).toMatchObject({
      status: null,
      error: 'The receiver could not be reached (ECONNREFUSED).',
    });
  });

  test.each([
    ['bytes that are not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['an invalid status', 'HTTP/1.1 9999 What\r\n\r\n'],
    ['two Content-Length headers', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx'],
  ])('a reply with %s is an error', async (_what, speech) => {
    const server = await listening(
      createTcpServer(
        (socket) =>
          void socket
            .on('error', () => {})
            .resume()
            .end(speech),
      ),
    );
    expect(await send(`http://127.0.0.1:${server.port}/`)).toMatchObject({ status: null });
    await server.close();
  });

  test('an https receiver with a self-signed certificate receives no request', async () => {
    let requests = 0;
    const server = await listening(
      createTlsServer({ key: KEY, cert: CERTIFICATE }, (_request, response) => {
        requests += 1;
        response.end();
      }),
    );
    expect(await send(`https://hooks.test:${server.port}/`)).toMatchObject({
      status: null,
      error: 'The receiver could not be reached (DEPTH_ZERO_SELF_SIGNED_CERT).',
    });
    expect(requests).toBe(0);
    await server.close();
  });
});

async function listening(server: Server): Promise<{ port: number; close(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The key of a self-signed certificate that only this test uses. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQggfG5e3Kt9tMbLPkZ
J07xNfs+zJ21whRzzNWKciJtYbShRANCAARQrOZ3bUFhIO0fyBu8N6gxvpaSoTC/
yddMGdyyqaGaGKu6IYtdSOcTPZ0Qwy5eqk4/qBsMnEZ+S6zuP3ycVxKc
-----END PRIVATE KEY-----
`;

const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmTCCAT6gAwIBAgIUXfTpbzFtOiNaNTxZnt1bvP5TOawwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKaG9va3MudGVzdDAgFw0yNjExMjExMDU2MjFaGA8yMTI2MTAy
ODEwNTYyMVowFTETMBEGA1UEAwwKaG9va3MudGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABFCs5ndtQWEg7R/IG7w3qDG+lpKhML/J10wZ3LKpoZoYq7ohi11I
5xM9nRDDLl6qTj+oGwycRn5LrO4/fJxXEpyjajBoMB0GA1UdDgQWBBQyq+aAb065
EIfcUpMqhqU3Zi1hXjAfBgNVHSMEGDAWgBQyq+aAb065EIfcUpMqhqU3Zi1hXjAP
BgNVHRMBAf8EBTADAQH/MBUGA1UdEQQOMAyCCmhvb2tzLnRlc3QwCgYIKoZIzj0E
AwIDSQAwRgIhAOxlHZQIvfkysPiVLoECjHNUrQSuzmwa5imqHA8GfDdAAiEAvUmH
YwjWKrGYbk1CHdpSqRNRRKZsFO3aFXljVfTqhzQ=
-----END CERTIFICATE-----
`;
