import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  type attemptSchema,
  DELIVERY_STATES,
  type deliveryRulesSchema,
  type deliverySchema,
} from '../../outbox/webhooks/deliveries.ts';
import type { secretSchema } from '../../outbox/webhooks/secrets.ts';
import { indentJson } from '../../platform/json.ts';
import { Card, Facts, NewSecret, StateTag } from '../kit/elements.tsx';
import { Field, FilterForm, PostButton, PostForm } from '../kit/form.tsx';
import { type FormState, NO_INPUT, postForm } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { ListPage, StateChoice } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { count, Dash, IdLink, Time } from '../kit/words.tsx';
import { apiData, apiList, callApi, dataOf, idIn, refusedForm } from './customer-api.ts';

const PATH = '/account/webhooks';

type DeliveryView = z.output<typeof deliverySchema>;
type SecretView = z.output<typeof secretSchema>;

interface Webhooks {
  secret: SecretView | null;
  delivery: z.output<typeof deliveryRulesSchema>;
}

const testForm = z.object({ url: z.string().default('') });

/** Registers the page of webhooks: the signing secret, a test event, and the log of deliveries. */
export function registerWebhookPages(scope: FastifyInstance): void {
  scope.get(PATH, async (_request, reply) => showWebhooks(reply, NO_INPUT));
  scope.post(`${PATH}/secret`, async (request, reply) => {
    const { secret } = await apiData<{ secret: string }>(request, 'POST', '/api/webhooks/secret');
    return showWebhooks(reply, NO_INPUT, 200, secret);
  });
  postForm(scope, `${PATH}/test`, testForm, showWebhooks, async (body, request) => {
    const answer = await callApi(request, 'POST', '/api/webhooks/test', body);
    if (answer.status >= 400) throw refusedForm(answer, () => 'url');
    return `${PATH}/deliveries/${dataOf<DeliveryView>(answer).deliveryId}`;
  });
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
            <Card id="test" title="Send a test event">
              <PostForm action={`${PATH}/test`} form={form}>
                <Field name="url" label="URL" type="url" required placeholder="https://example.com/souk" />
                <button type="submit">Send</button>
              </PostForm>
            </Card>
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
      <DeliveryTable rows={list.items} />
    </ListPage>,
    status,
  );
}

const DeliveryTable = tableOf<DeliveryView>('Deliveries', 'No deliveries found.', [
  ['Delivery', ({ deliveryId }) => <IdLink to={`${PATH}/deliveries/${deliveryId}`} id={deliveryId} />],
  ['Event', ({ type }) => type],
  ['State', ({ state }) => <StateTag state={state} />],
  ['Attempts', ({ attempts }) => attempts, 'number'],
  ['Last response', ({ lastStatus, lastError }) => lastStatus ?? lastError ?? <Dash />],
  ['URL', ({ url }) => url, 'long'],
  ['Created', ({ createdAt }) => <Time at={createdAt} />],
]);

/** The signing secret. @param shown a new secret, which is shown only once. */
function WebhookSecret({ secret, shown }: { secret: SecretView | null; shown: string | null }): VNode {
  return (
    <Card id="secret" title="Signing secret">
      {shown !== null && <NewSecret id="new-secret" text={shown} />}
      {secret ? (
        <p>
          Created <Time at={secret.createdAt} />.
          {secret.previousSignsUntil && (
            <>
              {' '}
              The previous secret also signs until <Time at={secret.previousSignsUntil} />, so that you can
              update your servers.
            </>
          )}
        </p>
      ) : (
        <p class="muted">No secret yet. Create one before you use webhooks.</p>
      )}
      <PostButton
        action="/account/webhooks/secret"
        confirm={
          secret ? 'Create a new secret? The current secret also signs for a limited time.' : undefined
        }
        class={secret ? '' : 'primary'}
      >
        {secret ? 'Create a new secret' : 'Create a secret'}
      </PostButton>
    </Card>
  );
}

const DELIVERY = `${PATH}/deliveries/:id`;

type AttemptView = z.output<typeof attemptSchema>;

interface Delivery extends DeliveryView {
  /** JSON, as it is signed. */
  payload: string;
  log: AttemptView[];
}

/** Registers the page of a delivery: its payload, its attempts, and a button that sends it again. */
export function registerDeliveryPage(scope: FastifyInstance): void {
  const urlOf = (request: FastifyRequest) => `/api/webhooks/deliveries/${idIn(request)}`;
  scope.post(`${DELIVERY}/replay`, async (request, reply) => {
    const { deliveryId } = await apiData<DeliveryView>(request, 'POST', `${urlOf(request)}/replay`);
    return reply.redirect(`${PATH}/deliveries/${deliveryId}`, 303);
  });
  scope.get(DELIVERY, async (request, reply) => {
    const delivery = await apiData<Delivery>(request, 'GET', urlOf(request));
    const { deliveryId, type, state, log, payload } = delivery;
    return sendPage(
      reply,
      <Page title="Delivery" back={[PATH, 'All deliveries']} heading={type} styles={['account.css']}>
        <section
          class="card"
          id="delivery"
          data-refresh={state === 'pending' ? '3' : undefined}
          aria-label="State"
        >
          <DeliveryFacts delivery={delivery} />
          <PostButton action={`${PATH}/deliveries/${deliveryId}/replay`}>Send again</PostButton>
          {log.length > 0 && <Attempts rows={log} />}
        </section>
        <h2>Payload</h2>
        <pre class="answer wrap">
          <code>{indentJson(payload)}</code>
        </pre>
      </Page>,
    );
  });
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

const Attempts = tableOf<AttemptView>('Attempts', 'None.', [
  ['Attempt', ({ attempt }) => attempt, 'number'],
  ['Date', ({ at }) => <Time at={at} />],
  ['Response', ({ status, error }) => status ?? error],
  ['Duration', ({ durationMs }) => `${count(Math.round(durationMs))} ms`, 'number'],
  ['Response body', ({ response }) => response, 'long'],
]);
