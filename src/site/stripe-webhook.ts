import type { FastifyInstance } from 'fastify';
import { BadSignature, type StripePayments } from '../billing/payments/stripe.ts';
import { SoukError } from '../platform/errors.ts';

/** Where Stripe tells of payments. What it says counts for its signature alone, so the body is taken as it came. */
export function registerStripeWebhook(app: FastifyInstance, stripe: StripePayments): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 262_144 }, (_request, body, done) => {
      done(null, body);
    });
    scope.post('/payments/stripe', async (request, reply) => {
      try {
        await stripe.hear(request.body as Buffer, String(request.headers['stripe-signature'] ?? ''));
      } catch (error) {
        if (error instanceof BadSignature)
          throw new SoukError('VALIDATION_FAILED', { message: 'stripe-signature: does not fit this body' });
        throw error;
      }
      return reply.code(204).send();
    });
  });
}
