import type { FastifyInstance } from 'fastify';
import { BadSignature, type StripePayments } from '../../billing/payments/payment-port.ts';
import { SoukError } from '../../platform/errors.ts';
import { publicEndpoint, registerEndpoints } from './endpoint.ts';

const BODY_LIMIT_BYTES = 262_144;

const stripeWebhook = publicEndpoint({
  isHidden: true,
  tag: 'payments',
  method: 'post',
  path: '/payments/stripe',
  summary: 'Receives payment events from Stripe.',
  answers: { 204: { description: 'The event was processed' } },

  async handle({ stripe }: { stripe: StripePayments }, request, reply) {
    try {
      await stripe.handleEvent(request.body as Buffer, String(request.headers['stripe-signature'] ?? ''));
    } catch (error) {
      if (error instanceof BadSignature)
        throw new SoukError('VALIDATION_FAILED', { message: 'stripe-signature: does not match this body' });
      throw error;
    }
    return reply.code(204).send();
  },
});

/** Registers the endpoint without parsing of bodies, because the signature covers the raw bytes. */
export function registerStripeWebhook(app: FastifyInstance, stripe: StripePayments): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: BODY_LIMIT_BYTES },
      (_request, body, done) => done(null, body),
    );
    registerEndpoints(scope, [stripeWebhook], { stripe });
  });
}
