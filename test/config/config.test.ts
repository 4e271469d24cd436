import { describe, expect, test } from 'vitest';
import { alertReceiversOf } from '../../src/config/alerts.ts';
import { readConfig, requireSettings } from '../../src/config/config.ts';
import { retentionSettings } from '../../src/config/limits.ts';
import { mailSenderOf } from '../../src/config/mail.ts';
import { hasDemoPictures, providersOf } from '../../src/config/providers.ts';
import { credentialsFor } from '../../src/config/selling-partner.ts';
import { openIdOf } from '../../src/config/single-sign-on.ts';
import { WORKER_POOL_NAMES } from '../../src/operations/pools.ts';
import { ConfigError } from '../../src/platform/settings.ts';

test('uses the defaults for missing settings', () => {
  expect(readConfig({})).toMatchObject({
    HOST: '127.0.0.1',
    PORT: 3000,
    SOUK_DATA_DIR: '.souk',
    OFF_PEAK_WINDOW: '19:00-07:00',
    OFF_PEAK_TIMEZONE: 'Asia/Shanghai',
    LOG_LEVEL: 'info',
    WORKER_POOLS: [...WORKER_POOL_NAMES],
  });
  expect(readConfig({})).not.toHaveProperty('DATABASE_URL');
});

test('treats an empty value as absent', () => {
  expect(readConfig({ PORT: '', DATABASE_URL: ' ', LOG_LEVEL: '' })).toEqual(readConfig({}));
});

test.for(['a:1,b:2/souk', 'a,b/souk', 'a/souk?host=a,b', 'a/souk?host=a&host=b'])(
  'refuses the address //user@%s of PostgreSQL because it names several servers',
  (address) => {
    expect(() => readConfig({ DATABASE_URL: `postgresql://user@${address}` })).toThrow(
      /DATABASE_URL names several servers, but must name one address that leads to the primary/,
    );
  },
);

describe('refuses a bad setting with a message that names it:', () => {
  test.each([
    ['PORT', 'eighty'],
    ['PORT', '-1'],
    ['PORT', '65536'],
    ['PORT', '80.5'],
    ['DATABASE_URL', 'localhost'],
    ['DATABASE_URL', 'mysql://localhost/souk'],
    ['DATABASE_URL', 'postgresql://user:password@host:port/souk'],
    ['DATABASE_URL', 'postgresql://host/souk?target_session_attrs=standby'],
    ['REDIS_URL', 'localhost:6379'],
    ['REDIS_URL', 'http://localhost:6379'],
    ['REDIS_NAMESPACE', 'Souk!'],
    ['REDIS_NAMESPACE', '{souk}'],
    ['KEEPA_BASE_URL', 'api.keepa.example'],
    ['KEEPA_BASE_URL', 'ftp://api.keepa.example'],
    ['SP_API_REFRESH_TOKENS', 'Atzr|token'],
    ['SP_API_REFRESH_TOKENS', 'na=a,us=b'],
    ['DEMO_DATA', 'products,payments'],
    ['ABA_FETCH_COUNTRIES', 'us,in'],
    ['CHART_SITE_URL', 'charts'],
    ['OFF_PEAK_WINDOW', '19:00'],
    ['OFF_PEAK_WINDOW', '19:00-24:00'],
    ['OFF_PEAK_WINDOW', '7:00-19:00'],
    ['OFF_PEAK_WINDOW', '19:00-19:00'],
    ['OFF_PEAK_TIMEZONE', 'Middle/Earth'],
    ['LOG_LEVEL', 'loud'],
    ['WORKER_POOLS', 'market,magic'],
    ['WORKER_POOLS', ','],
    ['WEBHOOK_ALLOW_PRIVATE', 'maybe'],
    ['ADMIN_TOKEN', 'fifteen-letters'],
    ['ADMIN_TOKEN', 'sixteen letters!'],
    ['METRICS_TOKEN', 'short'],
    ['METRICS_PORT', '70000'],
    ['SMTP_URL', 'mail.example'],
    ['SMTP_URL', 'https://mail.example'],
    ['MAIL_FROM', 'Souk'],
    ['MAIL_FROM', 'Souk <souk@example>, b@example'],
    ['MAIL_FROM', 'Souk <souk@souk.example>\nBcc: a@b.example'],
    ['OIDC_ISSUER', 'accounts.example.com'],
    ['OIDC_ISSUER', 'http://accounts.example.com'],
    ['OIDC_ALLOWED_DOMAINS', 'example.com,@example.org'],
    ['OIDC_NEW_PEOPLE', 'some'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ])('%s=%s', (name, value) => {
    const read = () => readConfig({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^Bad setting: ${name} [^;]+\\.$`));
  });
});

describe('the settings of alerts', () => {
  const MAIL = {
    SMTP_URL: 'smtps://mail.example',
    MAIL_FROM: 'a@b.example',
    PUBLIC_URL: 'https://souk.example',
  };
  const receivers = (env: Record<string, string>) => {
    const config = readConfig({ WORKER_POOLS: 'batch', ...env });
    return alertReceiversOf(config, mailSenderOf(config));
  };

  test('are addresses, and a webhook that may be reached', () => {
    const ALERT_MAIL = 'ann@souk.example, ben@souk.example';
    const ALERT_WEBHOOK = 'https://hooks.slack.com/services/T0/B0/x';
    expect(receivers({})).toEqual({ mail: [], webhook: null });
    expect(receivers({ ...MAIL, ALERT_MAIL, ALERT_WEBHOOK })).toEqual({
      mail: ['ann@souk.example', 'ben@souk.example'],
      webhook: ALERT_WEBHOOK,
    });
    expect(receivers({ ALERT_MAIL, WORKER_POOLS: 'market' })).toEqual({ mail: [], webhook: null });
    expect(() => receivers({ ALERT_MAIL })).toThrow('ALERT_MAIL is set: set MAIL_FROM and SMTP_URL as well.');
    expect(() => receivers({ ...MAIL, ALERT_MAIL: 'ann' })).toThrow('ALERT_MAIL must be e-mail addresses');
    expect(() => receivers({ ALERT_WEBHOOK: 'http://10.0.0.1/x' })).toThrow(/^ALERT_WEBHOOK must not/);
    expect(
      receivers({ ALERT_WEBHOOK: 'http://10.0.0.1/x', WEBHOOK_ALLOW_PRIVATE: 'true' }).webhook,
    ).not.toBeNull();
  });
});

describe('the settings of mails', () => {
  const mail = (env: Record<string, string>) => mailSenderOf(readConfig({ WORKER_POOLS: 'batch', ...env }));
  const [SMTP_URL, MAIL_FROM, PUBLIC_URL] = [
    'smtps://user:secret-word@mail.example',
    'Souk <souk@souk.example>',
    'https://souk.example',
  ];

  test('are all or none', () => {
    expect(mail({})).toBeNull();
    expect(mail({ SMTP_URL, MAIL_FROM, PUBLIC_URL })).toEqual({
      from: MAIL_FROM,
      publicUrl: PUBLIC_URL,
      transport: { smtpUrl: SMTP_URL },
    });
    expect(() => mail({ SMTP_URL })).toThrow(/^SMTP_URL is set: set MAIL_FROM/);
    expect(() => mail({ SMTP_URL, MAIL_FROM })).toThrow(/^MAIL_FROM is set: set PUBLIC_URL/);
    expect(() => mail({ MAIL_FROM, PUBLIC_URL })).toThrow(/^MAIL_FROM is set: set SMTP_URL/);
  });

  test('need no SMTP_URL in a worker that sends no mails', () => {
    expect(mail({ MAIL_FROM, PUBLIC_URL, WORKER_POOLS: 'market' })).toMatchObject({ transport: null });
  });

  test('show mails in the console on a loopback address only', () => {
    expect(mail({ SMTP_URL: 'console:', PORT: '3001' })).toMatchObject({
      transport: 'console',
      publicUrl: 'http://127.0.0.1:3001',
    });
    expect(() => mail({ SMTP_URL: 'console:', HOST: '0.0.0.0' })).toThrow(/HOST must be loopback/);
  });
});

describe('the settings of single sign-on', () => {
  const openId = (env: Record<string, string>) => openIdOf(readConfig(env));
  const OIDC_ISSUER = 'https://accounts.example/realms/souk/';
  const client = { OIDC_CLIENT_ID: 'souk', OIDC_CLIENT_SECRET: 'secret-word' };
  const PUBLIC_URL = 'https://souk.example';

  test('are all or none', () => {
    expect(openId({ OIDC_NAME: 'Example', PUBLIC_URL })).toBeNull();
    expect(
      openId({ OIDC_ISSUER, ...client, PUBLIC_URL, OIDC_ALLOWED_DOMAINS: 'A.example, b.example' }),
    ).toEqual({
      // With its last slash.
      issuer: OIDC_ISSUER,
      clientId: 'souk',
      clientSecret: 'secret-word',
      name: 'single sign-on',
      allowedDomains: ['a.example', 'b.example'],
      hasNewPeople: false,
      roleClaim: null,
    });
    expect(() => openId(client)).toThrow(/set OIDC_ISSUER as well\.$/);
    expect(() => openId({ OIDC_ISSUER, PUBLIC_URL })).toThrow(/set OIDC_CLIENT_ID and OIDC_CLIENT_SECRET/);
    expect(() => openId({ OIDC_ISSUER, ...client })).toThrow(/^OIDC_ISSUER is set: set PUBLIC_URL/);
  });

  test('accept a provider without TLS on this machine only', () => {
    const local = { ...client, PUBLIC_URL, OIDC_ISSUER: 'http://localhost:8080' };
    expect(openId(local)).toMatchObject({ issuer: 'http://localhost:8080' });
  });
});

test('LIMITS changes the limits that it names', () => {
  const LIMITS = '{"FREE_REQUESTS_PER_SECOND": 50, "LEDGER_KEPT_MONTHS": 24}';
  expect(readConfig({ LIMITS })).toEqual({
    ...readConfig({}),
    FREE_REQUESTS_PER_SECOND: 50,
    LEDGER_KEPT_MONTHS: 24,
  });
});

test.each([
  ['FREE_REQUESTS_PER_SECOND=50', 'LIMITS must be a JSON object.'],
  ['[50]', 'LIMITS must be a JSON object.'],
  [
    '{"FREE_REQUEST_PER_SECOND": 50}',
    'LIMITS has no limit FREE_REQUEST_PER_SECOND; did you mean FREE_REQUESTS_PER_SECOND?',
  ],
  ['{"UPLOAD_BYTES": "1"}', 'LIMITS: UPLOAD_BYTES must be a whole number from 1, got "1".'],
  ['{"UPLOAD_BYTES": 0.5}', 'LIMITS: UPLOAD_BYTES must be a whole number from 1, got 0.5.'],
  [
    '{"UPLOAD_BYTES": 0, "CALLS_KEPT_MONTHS": 1}',
    'LIMITS: UPLOAD_BYTES must be a whole number from 1, got 0; LIMITS: CALLS_KEPT_MONTHS must be a whole number from 2 to 1200, got 1.',
  ],
])('refuses LIMITS=%s, naming what is wrong', (LIMITS, faults) => {
  expect(() => readConfig({ LIMITS })).toThrow(new ConfigError(`Bad setting: ${faults}`));
});

test('refuses to fold ledger lines before their calls are deleted', () => {
  const config = readConfig({ LIMITS: '{"LEDGER_KEPT_MONTHS": 13}' });
  expect(() => retentionSettings(config)).toThrow(
    'LIMITS: LEDGER_KEPT_MONTHS must be 0 or more than CALLS_KEPT_MONTHS (13), got 13.',
  );
});

test('names all of several bad settings', () => {
  expect(() => readConfig({ PORT: 'x', LOG_LEVEL: 'x', HOST: 'x' })).toThrow(
    /^Bad setting: PORT .+; LOG_LEVEL .+\.$/,
  );
});

test('does not print the value of a bad setting, which may be a password', () => {
  expect(() => readConfig({ ADMIN_TOKEN: 'secret-word' })).toThrow(/^(?!.*secret-word)/);
  expect(() => readConfig({ DATABASE_URL: 'secret-word@host' })).toThrow(/^(?!.*secret-word)/);
  expect(() => readConfig({ SMTP_URL: 'http://user:secret-word@host' })).toThrow(/^(?!.*secret-word)/);
});

test('removes trailing slashes of addresses and spaces between pools', () => {
  const config = readConfig({ KEEPA_BASE_URL: 'http://127.0.0.1:9/x//', WORKER_POOLS: 'graph, market' });
  expect(config).toMatchObject({ KEEPA_BASE_URL: 'http://127.0.0.1:9/x', WORKER_POOLS: ['graph', 'market'] });
});

test.each([
  ['KEY', [{ name: 'main', key: 'KEY' }]],
  [
    ' main:KEY , second:OTHER ',
    [
      { name: 'main', key: 'KEY' },
      { name: 'second', key: 'OTHER' },
    ],
  ],
  [
    'KEY,OTHER',
    [
      { name: 'main', key: 'KEY' },
      { name: 'account-2', key: 'OTHER' },
    ],
  ],
])('reads KEEPA_API_KEY=%s as accounts', (value, accounts) => {
  expect(readConfig({ KEEPA_API_KEY: value }).KEEPA_API_KEY).toEqual(accounts);
});

test.each([
  ['main:SECRET,main:SECRET2', /names two accounts main/],
  ['main:SECRET,second:SECRET', /has the same key twice/],
  ['SECRET SECRET', /must be KEY or NAME:KEY with a key of/],
  ['main:SECRET,', /entry 2 must be KEY or NAME:KEY with a key of/],
  ['main:SECRET,Second Key:SECRET2', /entry 2 must be KEY or NAME:KEY with a name of at most 30/],
  ['a:b:SECRET', /must be KEY or NAME:KEY with a key of/],
])('refuses KEEPA_API_KEY=%s without printing a key', (value, message) => {
  expect(() => readConfig({ KEEPA_API_KEY: value })).toThrow(/^Bad setting: KEEPA_API_KEY [^S]+\.$/);
  expect(() => readConfig({ KEEPA_API_KEY: value })).toThrow(message);
});

test.each([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
  ['', false],
])('reads WEBHOOK_ALLOW_PRIVATE=%s as %s', (value, allowed) => {
  expect(readConfig({ WEBHOOK_ALLOW_PRIVATE: value }).WEBHOOK_ALLOW_PRIVATE).toBe(allowed);
});

test('a process names the required settings that are missing', () => {
  const config = readConfig({ DATABASE_URL: 'postgresql://host/souk' });
  expect(() => requireSettings(config, 'DATABASE_URL', 'REDIS_URL', 'KEEPA_API_KEY')).toThrow(
    /^Not set: REDIS_URL, KEEPA_API_KEY\./,
  );
  expect(requireSettings(config, 'DATABASE_URL')).toBe(config);
});

test('a site whose reports are fetched requires the credentials of its region', () => {
  const config = readConfig({
    ABA_FETCH_COUNTRIES: 'us, de',
    SP_API_CLIENT_ID: 'a',
    SP_API_REFRESH_TOKENS: 'na=b',
  });
  const { ABA_FETCH_COUNTRIES: sites = [] } = config;
  expect(() => credentialsFor(config, sites)).toThrow(
    /^Not set: SP_API_CLIENT_SECRET, SP_API_REFRESH_TOKENS \(eu\)\. Fetching reports of us, de needs it\.$/,
  );
  const { refreshTokens } = credentialsFor({ ...config, SP_API_CLIENT_SECRET: 'c' }, ['us', 'ca']);
  expect(refreshTokens).toEqual({ na: 'b' });
});

describe('names providers', () => {
  test('by their addresses, without user and password', () => {
    const config = readConfig({
      KEEPA_BASE_URL: 'https://user:password@proxy.example:8443/keepa/',
      SP_API_BASE_URL: 'https://reports.example',
    });
    expect(providersOf(config)).toEqual({
      products: 'https://proxy.example:8443/keepa',
      trends: 'https://trends.google.com',
      reports: 'https://reports.example',
    });
    expect(providersOf(readConfig({})).reports).toBe('amazon');
  });

  test('demo for the data that the demo provider supplies', () => {
    const config = readConfig({ DEMO_DATA: 'products, reports', KEEPA_BASE_URL: 'http://127.0.0.1:4000' });
    expect(providersOf(config)).toEqual({
      products: 'demo',
      trends: 'https://trends.google.com',
      reports: 'demo',
    });
  });
});

test('serves pictures itself only if the image host is the demo provider', () => {
  const url = 'http://127.0.0.1:4000';
  const demo = { DEMO_DATA: 'products', KEEPA_BASE_URL: url, IMAGE_CDN_URL: url };
  expect(hasDemoPictures(readConfig(demo))).toBe(true);
  expect(hasDemoPictures(readConfig({ ...demo, IMAGE_CDN_URL: 'https://images.example' }))).toBe(false);
  expect(hasDemoPictures(readConfig({ ...demo, DEMO_DATA: 'trends' }))).toBe(false);
});
