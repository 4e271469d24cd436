import { Webhook } from 'standardwebhooks';

export const SECRET = `whsec_${Buffer.from('a secret of more than sixteen bytes').toString('base64')}`;
export const BODY = '{"type":"webhook.test","timestamp":"2026-03-04T10:00:00.000Z","data":{}}';

/** Returns the headers of a webhook as the service signs it. The first signature is one of an earlier secret. */
export function signedHeaders(at = new Date()): Record<string, string> {
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'Webhook-Signature': `v1,bm8= ${new Webhook(SECRET).sign('msg_1', at, BODY)}`,
  };
}
