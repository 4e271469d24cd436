import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type FormFaults, readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { addressOf } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.ts';
import { faultsIn } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { AnswerViewer } from '../answer-viewer.tsx';
import { PictureForm } from './picture-form.tsx';
import { tryCall } from './try-call.ts';

const PATH = '/account/try/picture';

/** As large as upstream draws without being asked twice. */
const SIZE = { width: '1000', height: '500' };

/** The picture of a product's prices, by a form of its own. */
export function registerPicture(scope: FastifyInstance, { app }: Pages): void {
  // Whoever reloads the address of a picture begins anew.
  scope.get(PATH, (_request, reply) => reply.redirect('/account/try', 303));

  scope.post(PATH, async (request, reply) => {
    const { values } = readForm(z.object({}), request.body);
    const { asin, domain, range } = values;
    const path = addressOf('/api/market/graphimage', { asin, domain, range, ...SIZE });
    const outcome = await tryCall({ app, apiKey: customerOf(request).apiKey }, { method: 'GET', path });
    if (outcome.kind === 'accepted') return reply.redirect(`/account/jobs/${outcome.jobId}`, 303);
    const isRefused = outcome.kind === 'refused';
    return sendPage(
      reply,
      <Page
        title="Price history"
        viewer={viewerOf(request, reply)}
        path="/account/try"
        styles={['account.css']}
        scripts={['answer.js']}
      >
        <p>
          <a href="/account/try">Other calls</a>
        </p>
        <h1>Price history{asin && ` of ${asin}`}</h1>
        {!isRefused && outcome.jobId !== null && (
          <AnswerViewer jobId={outcome.jobId} isPicture={outcome.isPicture} />
        )}
        <PictureForm
          csrf={reply.generateCsrf()}
          values={values}
          faults={isRefused ? faultsOf(outcome) : {}}
        />
      </Page>,
      isRefused ? outcome.status : 200,
    );
  });
}

function faultsOf(outcome: Parameters<typeof faultsIn>[0]): FormFaults {
  const faults = faultsIn(outcome);
  if (faults.length === 0) return { '': outcome.envelope.msg };
  return Object.fromEntries(faults.map(({ parameter, problem }) => [parameter, problem]));
}
