import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

/** Patterns of secrets in texts and addresses: customers' keys, signing secrets, and the provider's key. */
const SECRETS = [
  [/km_(?:test_)?[A-Za-z0-9]{4,}/g, 'km_***'],
  [/whsec_[A-Za-z0-9+/=]{4,}/g, 'whsec_***'],
  // Tokens and application secrets of the Selling Partner API.
  [/Atz[ar]\|[\w-]{4,}/g, 'Atz*|***'],
  [/amzn1\.oa2-cs\.[\w.]{4,}/g, 'amzn1.oa2-cs.***'],
  [/([?&]key=)[^&\s"']+/gi, '$1***'],
] as const;

/** Masks secrets in a text: `km_...`, `whsec_...`, and the value of a `key` query parameter. */
export function maskSecrets(text: string): string {
  return SECRETS.reduce((masked, [secret, mask]) => masked.replace(secret, mask), text);
}

/** Creates a logger that writes JSON lines to standard output, with secrets masked in all fields. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: [
        'req.headers',
        '*.headers.authorization',
        '*.headers["x-api-key"]',
        'key',
        '*.key',
        'apiKey',
        '*.apiKey',
      ],
      censor: '***',
    },
    hooks: { streamWrite: maskSecrets },
  };
  return destination ? pino(options, destination) : pino(options);
}
