import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { DELIVERY_STATES } from '../../../webhooks/delivery-log.ts';
import type { deliveryRulesSchema, deliverySchema, secretSchema } from '../../../webhooks/view.ts';
import { Choice, Field, type FormFaults, type FormValues, PostForm, readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { addressOf, MorePages, optional } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.ts';
import { StateTag } from '../../kit/state-tag.tsx';
import { Table } from '../../kit/table.tsx';
import { Time } from '../../kit/words.tsx';
import { callApi, dataOf, faultsIn } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { WebhookSecret } from './webhook-secret.tsx';

const PATH = '/account/webhooks';

export type DeliveryView = z.output<typeof deliverySchema>;
export type SecretView = z.output<typeof secretSchema>;

const filter = z.object({ state: optional(z.string()), cursor: optional(z.string()) });

/** What the page shows besides what the account has. */
interface Shown {
  /** A new secret, the only time it is seen. */
  secret?: string;
  values?: FormValues;
  faults?: FormFaults;
  status?: number;
}

/** The secret that webhooks are signed with, and the log of their deliveries. */
export function registerWebhookPages(scope: FastifyInstance, { app }: Pages): void {
  scope.get(PATH, (request, reply) => send(request, reply, {}));

  scope.post(`${PATH}/secret`, async (request, reply) => {
    const answer = await callApi(callerOf(request), 'POST', '/api/webhooks/secret');
    return send(request, reply, { secret: dataOf<{ secret: string }>(answer).secret });
  });

  scope.post(`${PATH}/test`, async (request, reply) => {
    const { values } = readForm(z.object({}), request.body);
    const answer = await callApi(callerOf(request), 'POST', '/api/webhooks/test', { url: values.url ?? '' });
    if (answer.status >= 400) {
      const [fault] = faultsIn(answer);
      return send(request, reply, {
        values,
        faults: { url: fault?.problem ?? answer.envelope.msg },
        status: answer.status,
      });
    }
    return reply.redirect(`${PATH}/deliveries/${dataOf<DeliveryView>(answer).deliveryId}`, 303);
  });

  async function send(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<FastifyReply> {
    const { state, cursor } = readForm(filter, request.query).values;
    const asked = { state, cursor };
    const caller = callerOf(request);
    const [found, listed] = await Promise.all([
      callApi(caller, 'GET', '/api/webhooks'),
      callApi(caller, 'GET', addressOf('/api/webhooks/deliveries', { ...asked, limit: '25' })),
    ]);
    const { secret, delivery } = dataOf<{
      secret: SecretView | null;
      delivery: z.output<typeof deliveryRulesSchema>;
    }>(found);
    const { deliveries, nextCursor } = dataOf<{ deliveries: DeliveryView[]; nextCursor: string | null }>(
      listed,
    );
    const csrf = reply.generateCsrf();
    return sendPage(
      reply,
      <Page title="Webhooks" viewer={viewerOf(request, reply)} path={PATH} styles={['account.css']} wide>
        <h1>Webhooks</h1>
        <p class="lead">
          Calls, batches and schedules tell their end to an address of yours, signed with your secret. See{' '}
          <a href="/docs/webhooks">how to check it</a>.
        </p>
        <div class="split">
          <WebhookSecret secret={secret} shown={shown.secret ?? null} csrf={csrf} />
          <section class="card" aria-labelledby="test">
            <h2 id="test">Test an address</h2>
            <PostForm action={`${PATH}/test`} csrf={csrf}>
              <Field
                name="url"
                label="Address"
                type="url"
                required
                value={shown.values?.url}
                fault={shown.faults?.url}
                placeholder="https://example.com/souk"
              />
              <button type="submit">Send a test</button>
            </PostForm>
          </section>
        </div>
        <h2>Deliveries</h2>
        <form class="filters" method="get" action={PATH}>
          <Choice
            name="state"
            label="State"
            value={state}
            options={[['', 'All'], ...DELIVERY_STATES.map((name) => [name, name] as const)]}
          />
          <button type="submit">Filter</button>
        </form>
        <div id="deliveries" data-refresh="10">
          {deliveries.length === 0 ? (
            <p class="card empty">There are no such deliveries.</p>
          ) : (
            <DeliveryTable deliveries={deliveries} />
          )}
        </div>
        <MorePages path={PATH} query={asked} next={nextCursor} />
        <p class="hint">
          A receiver has {delivery.timeoutSeconds} seconds to answer; what fails is tried{' '}
          {delivery.retryDelaysSeconds.length} times more. The log is kept for {delivery.keptDays} days.
        </p>
      </Page>,
      shown.status,
    );
  }

  function callerOf(request: FastifyRequest) {
    return { app, apiKey: customerOf(request).apiKey };
  }
}

function DeliveryTable({ deliveries }: { deliveries: readonly DeliveryView[] }): VNode {
  return (
    <Table
      name="Deliveries"
      columns={['Delivery', 'What', 'State', '#Attempts', 'Last answer', 'To', 'Made']}
    >
      {deliveries.map((delivery) => (
        <tr key={delivery.deliveryId}>
          <td>
            <a href={`${PATH}/deliveries/${delivery.deliveryId}`}>
              <code>{delivery.deliveryId.slice(-12)}</code>
            </a>
          </td>
          <td>{delivery.type}</td>
          <td>
            <StateTag state={delivery.state} />
          </td>
          <td class="number">{delivery.attempts}</td>
          <td>{delivery.lastStatus ?? delivery.lastError ?? <span class="muted">-</span>}</td>
          <td class="long">{delivery.url}</td>
          <td>
            <Time at={delivery.createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
