import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { DELIVERY_STATES } from '../../../webhooks/delivery-log.ts';
import type { deliveryRulesSchema, deliverySchema, secretSchema } from '../../../webhooks/view.ts';
import { Field, FilterForm, PostForm } from '../../kit/form.tsx';
import { type FormState, NO_INPUT, onSubmit } from '../../kit/form-request.ts';
import { ListPage, StateChoice } from '../../kit/list-page.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { StateTag } from '../../kit/tag.tsx';
import { Dash, ShortId, Time } from '../../kit/words.tsx';
import { apiData, apiList, callApi, dataOf, refusedForm } from '../customer-api.ts';
import { WebhookSecret } from './webhook-secret.tsx';

const PATH = '/account/webhooks';

export type DeliveryView = z.output<typeof deliverySchema>;
export type SecretView = z.output<typeof secretSchema>;

interface Webhooks {
  secret: SecretView | null;
  delivery: z.output<typeof deliveryRulesSchema>;
}

const testForm = z.object({ url: z.string().default('') });

/** Registers the page of webhooks: the signing secret, a test event, and the log of deliveries. */
export function registerWebhookPages(scope: FastifyInstance): void {
  scope.get(PATH, async (_request, reply) => showWebhooks(reply, NO_INPUT));
  scope.post(`${PATH}/secret`, createSecret);
  scope.post(`${PATH}/test`, onSubmit(testForm, showWebhooks, sendTest));
}

async function createSecret(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { secret } = await apiData<{ secret: string }>(request, 'POST', '/api/webhooks/secret');
  return showWebhooks(reply, NO_INPUT, 200, secret);
}

async function sendTest(body: z.output<typeof testForm>, request: FastifyRequest): Promise<string> {
  const answer = await callApi(request, 'POST', '/api/webhooks/test', body);
  if (answer.status >= 400) throw refusedForm(answer, () => 'url');
  return `${PATH}/deliveries/${dataOf<DeliveryView>(answer).deliveryId}`;
}

/** @param newSecret a new secret, which is shown only once. */
async function showWebhooks(
  reply: FastifyReply,
  form: FormState,
  status?: number,
  newSecret: string | null = null,
): Promise<FastifyReply> {
  const { request } = reply;
  const [{ secret, delivery }, list] = await Promise.all([
    apiData<Webhooks>(request, 'GET', '/api/webhooks'),
    apiList<DeliveryView>(request, {
      url: '/api/webhooks/deliveries',
      name: 'deliveries',
      filters: ['state'],
    }),
  ]);
  return sendPage(
    reply,
    <ListPage
      title="Webhooks"
      lead={
        <>
          Souk sends a signed event to your URL when a call, a batch or a scheduled run ends. See{' '}
          <a href="/docs/webhooks">how to verify the signature</a>.
        </>
      }
      intro={
        <>
          <div class="split">
            <WebhookSecret secret={secret} shown={newSecret} />
            <TestForm form={form} />
          </div>
          <h2>Deliveries</h2>
        </>
      }
      path={PATH}
      list={list}
      filter={
        <FilterForm path={PATH} values={list.query}>
          <StateChoice states={DELIVERY_STATES} />
        </FilterForm>
      }
      refresh={{ id: 'deliveries', seconds: 10 }}
      note={
        <p class="hint">
          Your server must respond within {delivery.timeoutSeconds} seconds. A failed delivery is retried{' '}
          {delivery.retryDelaysSeconds.length} times. The log is kept for {delivery.keptDays} days.
        </p>
      }
    >
      <DeliveryTable deliveries={list.items} />
    </ListPage>,
    status,
  );
}

function TestForm({ form }: { form: FormState }): VNode {
  return (
    <section class="card" aria-labelledby="test">
      <h2 id="test">Send a test event</h2>
      <PostForm action={`${PATH}/test`} form={form}>
        <Field name="url" label="URL" type="url" required placeholder="https://example.com/souk" />
        <button type="submit">Send</button>
      </PostForm>
    </section>
  );
}

function DeliveryTable({ deliveries }: { deliveries: readonly DeliveryView[] }): VNode {
  return (
    <Table
      name="Deliveries"
      empty="No deliveries found."
      rows={deliveries}
      columns={[
        [
          'Delivery',
          ({ deliveryId }) => (
            <a href={`${PATH}/deliveries/${deliveryId}`}>
              <ShortId id={deliveryId} />
            </a>
          ),
        ],
        ['Event', ({ type }) => type],
        ['State', ({ state }) => <StateTag state={state} />],
        ['Attempts', ({ attempts }) => attempts, 'number'],
        ['Last response', ({ lastStatus, lastError }) => lastStatus ?? lastError ?? <Dash />],
        ['URL', ({ url }) => url, 'long'],
        ['Created', ({ createdAt }) => <Time at={createdAt} />],
      ]}
    />
  );
}
