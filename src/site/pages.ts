import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Attempts } from '../accounts/attempts.ts';
import type { Gateway } from '../api/gateway.ts';
import type { PaymentProvider } from '../billing/payments/payment-port.ts';

/** What pages work with. */
export interface Pages {
  gateway: Gateway;
  attempts: Attempts;
  payments: PaymentProvider;
  /** ISO 4217, lower case. */
  currency: string;
  /** Where customers reach this installation, without a slash at the end; null: wherever they came to. */
  publicUrl: string | null;
  /** The service itself: pages call it as any customer would, with the session's own key. */
  app: FastifyInstance;
}

/** The address of this installation as its customers know it, without a slash at the end. */
export function baseUrlOf({ publicUrl }: Pages, { protocol, host }: FastifyRequest): string {
  return publicUrl ?? `${protocol}://${host}`;
}
