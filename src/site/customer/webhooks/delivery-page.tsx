import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { z } from 'zod';
import { indentJson } from '../../../platform/json.ts';
import type { attemptSchema } from '../../../webhooks/view.ts';
import { Facts } from '../../kit/facts.tsx';
import { PostButton } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { StateTag } from '../../kit/tag.tsx';
import { count, Time } from '../../kit/words.tsx';
import { apiData, idIn } from '../customer-api.ts';
import type { DeliveryView } from './webhooks.tsx';

const LIST = '/account/webhooks';
const PATH = `${LIST}/deliveries/:id`;

type AttemptView = z.output<typeof attemptSchema>;

interface Delivery extends DeliveryView {
  /** JSON, as it is signed. */
  payload: string;
  log: AttemptView[];
}

/** Registers the page of a delivery: its payload, its attempts, and a button that sends it again. */
export function registerDeliveryPage(scope: FastifyInstance): void {
  scope.get(PATH, showDelivery);
  scope.post(`${PATH}/replay`, replay);
}

async function replay(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { deliveryId } = await apiData<DeliveryView>(request, 'POST', `${apiUrlOf(request)}/replay`);
  return reply.redirect(`${LIST}/deliveries/${deliveryId}`, 303);
}

async function showDelivery(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const delivery = await apiData<Delivery>(request, 'GET', apiUrlOf(request));
  const { deliveryId, type, state, log, payload } = delivery;
  return sendPage(
    reply,
    <Page title="Delivery" styles={['account.css']}>
      <p>
        <a href={LIST}>All deliveries</a>
      </p>
      <h1>{type}</h1>
      <section
        class="card"
        id="delivery"
        data-refresh={state === 'pending' ? '3' : undefined}
        aria-label="State"
      >
        <DeliveryFacts delivery={delivery} />
        <PostButton action={`${LIST}/deliveries/${deliveryId}/replay`}>Send again</PostButton>
        {log.length > 0 && <Attempts log={log} />}
      </section>
      <h2>Payload</h2>
      <pre class="answer wrap">
        <code>{indentJson(payload)}</code>
      </pre>
    </Page>,
  );
}

function apiUrlOf(request: FastifyRequest): string {
  return `/api/webhooks/deliveries/${idIn(request)}`;
}

function DeliveryFacts({ delivery }: { delivery: Delivery }): VNode {
  const { state, url, createdAt, nextAttemptAt, deliveryId } = delivery;
  return (
    <Facts
      facts={[
        ['State', <StateTag state={state} />],
        ['URL', url],
        ['Created', <Time at={createdAt} />],
        nextAttemptAt && ['Next attempt', <Time at={nextAttemptAt} />],
        ['Delivery', <code>{deliveryId}</code>],
      ]}
    />
  );
}

function Attempts({ log }: { log: readonly AttemptView[] }): VNode {
  return (
    <Table
      name="Attempts"
      rows={log}
      columns={[
        ['Attempt', ({ attempt }) => attempt, 'number'],
        ['Date', ({ at }) => <Time at={at} />],
        ['Response', ({ status, error }) => status ?? error],
        ['Duration', ({ durationMs }) => `${count(Math.round(durationMs))} ms`, 'number'],
        ['Response body', ({ response }) => response, 'long'],
      ]}
    />
  );
}
