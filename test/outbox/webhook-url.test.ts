import { expect, test } from 'vitest';
import { webhookUrl } from '../../src/outbox/webhooks/webhook-limits.ts';

const [publicOnly, anywhere] = [webhookUrl(false), webhookUrl(true)];
const problemOf = (value: unknown, schema = publicOnly) =>
  schema
    .safeParse(value)
    .error?.issues.map(({ message }) => message)
    .join();

test.each([
  ['https://example.com', 'https://example.com/'],
  [' https://example.com/hook?token=a%20b ', 'https://example.com/hook?token=a%20b'],
  ['HTTPS://Example.COM:443/Hook', 'https://example.com/Hook'],
  ['http://example.com:8080/a/../hook', 'http://example.com:8080/hook'],
  ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ['https://1.1.1.1/', 'https://1.1.1.1/'],
  [`https://example.com/${'a'.repeat(1_980)}`, `https://example.com/${'a'.repeat(1_980)}`],
])('accepts %s', (given, taken) => {
  expect(publicOnly.parse(given)).toBe(taken);
  // A normalised address is accepted unchanged.
  expect(publicOnly.parse(taken)).toBe(taken);
});

const TOO_LONG = `https://example.com/${'a'.repeat(1_981)}`;

test.each<[unknown, string]>([
  [undefined, 'is required'],
  [7, 'must be a text'],
  [['https://a.example', 'https://b.example'], 'more than once'],
  ['', '1 to 2000 characters'],
  [TOO_LONG, '1 to 2000 characters'],
  ['https://example.com/\u0000', 'control characters'],
  ['https://example.com/\nhook', 'control characters'],
  ['https://example.com/\ud800', 'control characters'],
  ['example.com/hook', 'must be an address such as'],
  ['/hook', 'must be an address such as'],
  ['https://', 'must be an address such as'],
  ['https://exa mple.com/', 'must be an address such as'],
  ['https://1.2.3.4.5.256/', 'must be an address such as'],
  ['ftp://example.com/', 'https:// or http://'],
  ['file:///etc/passwd', 'https:// or http://'],
  ['javascript:alert(1)', 'https:// or http://'],
  ['gopher://example.com/', 'https:// or http://'],
  ['https://ann:secret@example.com/', 'user name or password'],
  ['https://ann@example.com/', 'user name or password'],
  ['https://example.com/#part', 'fragment'],
  ['https://example.com/#', 'fragment'],
  ['http://example.com:22/', 'port'],
  ['http://example.com:25/', 'port'],
  ['http://example.com:0/', 'port'],
  ['http://example.com:6667/', 'port'],
  ['http://127.0.0.1/', 'private'],
  ['http://0x7f.1:8080/', 'private'],
  ['http://10.0.0.1/', 'private'],
  ['https://[::1]/', 'private'],
  ['http://localhost:3000/', 'private'],
])('refuses %j: %s', (given, problem) => {
  expect(problemOf(given)).toContain(problem);
});

test.each(['http://127.0.0.1:3000/x', 'http://localhost:3000/x', 'http://10.0.0.1/x', 'http://[::1]:8080/x'])(
  'accepts %s where private addresses are allowed',
  (url) => expect(anywhere.parse(url)).toBe(url),
);

test.each([
  ['http://169.254.169.254/latest', 'reserved'],
  ['http://0.0.0.0/', 'reserved'],
  ['ftp://127.0.0.1/', 'http://'],
  ['http://127.0.0.1:22/', 'port'],
])('refuses %s even where private addresses are allowed', (url, problem) => {
  expect(problemOf(url, anywhere)).toContain(problem);
});
