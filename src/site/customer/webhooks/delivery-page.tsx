import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { z } from 'zod';
import { indentJson } from '../../../platform/json.ts';
import type { attemptSchema } from '../../../webhooks/view.ts';
import { PostForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.ts';
import { StateTag } from '../../kit/state-tag.tsx';
import { Table } from '../../kit/table.tsx';
import { count, Time } from '../../kit/words.tsx';
import { callApi, dataOf } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import type { DeliveryView } from './webhooks.tsx';

const PATH = '/account/webhooks/deliveries/:id';

type AttemptView = z.output<typeof attemptSchema>;

interface Delivery extends DeliveryView {
  /** JSON, as it is signed. */
  payload: string;
  log: AttemptView[];
}

/** One delivery: what is told, every attempt at it, and sending it once more. */
export function registerDeliveryPage(scope: FastifyInstance, { app }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const delivery = dataOf<Delivery>(await callApi(callerOf(request), 'GET', apiPathOf(request)));
    const page = `/account/webhooks/deliveries/${delivery.deliveryId}`;
    return sendPage(
      reply,
      <Page
        title="Delivery"
        viewer={viewerOf(request, reply)}
        path="/account/webhooks"
        styles={['account.css']}
      >
        <p>
          <a href="/account/webhooks">All deliveries</a>
        </p>
        <h1>{delivery.type}</h1>
        <section
          class="card"
          id="delivery"
          data-refresh={delivery.state === 'pending' ? '3' : undefined}
          aria-label="State"
        >
          <Facts delivery={delivery} />
          <PostForm action={`${page}/replay`} csrf={reply.generateCsrf()}>
            <button type="submit">Send it again</button>
          </PostForm>
          {delivery.log.length > 0 && <Attempts log={delivery.log} />}
        </section>
        <h2>What is told</h2>
        <pre class="answer wrap">
          <code>{indentJson(delivery.payload)}</code>
        </pre>
      </Page>,
    );
  });

  scope.post(`${PATH}/replay`, async (request, reply) => {
    const answer = await callApi(callerOf(request), 'POST', `${apiPathOf(request)}/replay`);
    return reply.redirect(`/account/webhooks/deliveries/${dataOf<DeliveryView>(answer).deliveryId}`, 303);
  });

  function callerOf(request: FastifyRequest) {
    return { app, apiKey: customerOf(request).apiKey };
  }
}

function apiPathOf(request: FastifyRequest): string {
  return `/api/webhooks/deliveries/${encodeURIComponent((request.params as { id: string }).id)}`;
}

function Facts({ delivery }: { delivery: Delivery }): VNode {
  return (
    <dl class="facts">
      <dt>State</dt>
      <dd>
        <StateTag state={delivery.state} />
      </dd>
      <dt>To</dt>
      <dd>{delivery.url}</dd>
      <dt>Made</dt>
      <dd>
        <Time at={delivery.createdAt} />
      </dd>
      {delivery.nextAttemptAt && (
        <>
          <dt>Next attempt</dt>
          <dd>
            <Time at={delivery.nextAttemptAt} />
          </dd>
        </>
      )}
      <dt>Delivery</dt>
      <dd>
        <code>{delivery.deliveryId}</code>
      </dd>
    </dl>
  );
}

function Attempts({ log }: { log: readonly AttemptView[] }): VNode {
  return (
    <Table name="Attempts" columns={['#Attempt', 'When', 'Answer', '#Took', 'What it said']}>
      {log.map((attempt) => (
        <tr key={attempt.attempt}>
          <td class="number">{attempt.attempt}</td>
          <td>
            <Time at={attempt.at} />
          </td>
          <td>{attempt.status ?? attempt.error}</td>
          <td class="number">{count(Math.round(attempt.durationMs))} ms</td>
          <td class="long">{attempt.response}</td>
        </tr>
      ))}
    </Table>
  );
}
