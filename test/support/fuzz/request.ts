import fc from 'fast-check';
import { words } from '../words.ts';
import { ODD_TEXTS } from './odd-values.ts';

/** A request of the fuzz. Its credentials are added when it is sent. */
export interface FuzzRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer;
  /** The owner of its credentials. */
  as: 'customer' | 'session' | 'operator' | 'visitor';
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE'];

const TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  ...words(`
    APPLICATION/JSON text/json text/plain ; */* application/x-ndjson application/x-www-form-urlencoded
  `),
  'multipart/form-data; boundary=x',
  'application/*',
];

const ODD_KEYS = ['', 'x', 'sk_unknown', 'Bearer', '\u00ff\u00fe', 'a'.repeat(4_000), "' or 1=1 --"];

/** Texts that are valid in a header. */
const headerText = fc.oneof(
  fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '')),
  fc.constantFrom(...ODD_TEXTS).map((text) =>
    Buffer.from(text)
      .toString('latin1')
      .replaceAll(/[^\x20-\x7e\x80-\xff]/g, ''),
  ),
);

const HEADERS: Record<string, fc.Arbitrary<string>> = {
  prefer: fc.oneof(
    fc.constantFrom(
      'wait=0',
      'wait=-1',
      'wait=x',
      'wait="2',
      'respond-async; x',
      ',,',
      'respond-async',
      'wait=1e9',
    ),
    headerText,
  ),
  accept: fc.oneof(
    fc.constantFrom('*/*;q=2', 'text/html', 'image/png', 'text/event-stream', ';;'),
    headerText,
  ),
  'accept-encoding': fc.oneof(
    fc.constantFrom('gzip', 'gzip;q=2', '*;q=0', 'br', ';;', 'gzip;q='),
    headerText,
  ),
  'accept-language': headerText,
  'content-encoding': fc.constantFrom('gzip', 'br', 'x'),
  'if-none-match': fc.oneof(fc.constantFrom('*', '"x"', 'W/"x"'), headerText),
  'if-modified-since': headerText,
  'idempotency-key': headerText,
  'last-event-id': headerText,
  range: fc.constantFrom('bytes=0-1', 'bytes=-1', 'bytes=9-1', 'lines=0-'),
  'x-request-id': headerText,
  'x-http-method-override': fc.constantFrom('DELETE', 'x'),
  'x-forwarded-proto': fc.constantFrom('https', 'x', ','),
  'x-forwarded-host': headerText,
  origin: fc.oneof(fc.constantFrom('null', 'https://evil.example', 'http://localhost'), headerText),
  host: fc.constantFrom('evil.example', 'localhost:99999', '[::1', 'a b'.replace(' ', '.')),
  cookie: fc.oneof(
    fc.constantFrom('souk_session=x', 'souk_session=%', '=;=', 'souk_form=%00; souk_form=1'),
    headerText,
  ),
  traceparent: fc.oneof(fc.constant('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'), headerText),
  expect: fc.constant('100-continue'),
  authorization: fc.oneof(
    headerText.map((text) => `Basic ${text}`),
    headerText.map((text) => `Bearer ${text}`),
    headerText,
  ),
  'x-api-key': fc.constantFrom(...ODD_KEYS),
};

const header: fc.Arbitrary<Record<string, string>> = fc.oneof(
  ...Object.entries(HEADERS).map(([name, values]) => values.map((value) => ({ [name]: value }))),
);

type Change = (request: FuzzRequest) => FuzzRequest;

const bodyChange: fc.Arbitrary<(body: string) => string | Buffer> = fc.oneof(
  fc.nat(100).map((percent) => (body: string) => body.slice(0, Math.floor((body.length * percent) / 100))),
  fc.constantFrom<(body: string) => string | Buffer>(
    (body) => `\ufeff${body}`,
    (body) => Buffer.from(body, 'utf16le'),
    (body) => Buffer.concat([Buffer.from(body.slice(0, -1)), Buffer.from([0xff, 0xc0, 0xaf])]),
    (body) => `${body}${body}`,
    (body) => `[${body}]`,
    (body) => `${body}${' '.repeat(70_000)}`,
    (body) => body.replaceAll('"', "'"),
    () => '',
    () => 'null',
    () => '[]',
  ),
  fc.uint8Array({ maxLength: 80 }).map((bytes) => () => Buffer.from(bytes)),
);

const pathChange: fc.Arbitrary<(path: string) => string> = fc.constantFrom<(path: string) => string>(
  (path) => path.replace(/^[^?]*/, (where) => `${where}/`),
  (path) => path.replace('/', '//'),
  (path) => path.replace(/^[^?]*/, (where) => where.toUpperCase()),
  (path) => path.replace(/\/([^/?]*)(\?|$)/, '/%2e%2e/$1$2'),
  (path) => path.replace(/^[^?]*/, (where) => `${where}%00`),
  (path) => path.replace(/^[^?]*/, (where) => `${where};a=b`),
  (path) => `${path}${path.includes('?') ? '&' : '?'}%zz=%E0%A4&&==&a[b]=c&`,
  (path) => `${path}#x`,
  (path) => `${path}${path.includes('?') ? '&' : '?'}key=wrong`,
);

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.constantFrom(...METHODS).map(
      (method): Change =>
        (request) => ({ ...request, method }),
    ),
  },
  {
    weight: 4,
    arbitrary: header.map(
      (one): Change =>
        (request) => ({ ...request, headers: { ...request.headers, ...one } }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...TYPES).map(
      (type): Change =>
        (request) => ({ ...request, headers: { ...request.headers, 'content-type': type } }),
    ),
  },
  {
    weight: 2,
    arbitrary: bodyChange.map(
      (edit): Change =>
        (request) =>
          typeof request.body === 'string' ? { ...request, body: edit(request.body) } : request,
    ),
  },
  {
    weight: 1,
    arbitrary: pathChange.map(
      (edit): Change =>
        (request) => ({ ...request, path: edit(request.path) }),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Change>((request) => ({ ...request, as: 'visitor' })) },
);

/** Changes to method, address, headers, type and body; mostly none, so that other faults are reached. */
export const requestChanges: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Change>((request) => request) },
  {
    weight: 4,
    arbitrary: fc
      .array(change, { minLength: 1, maxLength: 3 })
      .map((all) => (request: FuzzRequest) => all.reduce((changed, one) => one(changed), request)),
  },
);
