import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import type { QuoteView } from '../../../api/quote-view.ts';
import type { Operation } from '../../../operations/define.ts';
import { OPERATIONS } from '../../../operations/index.ts';
import { type FormFaults, type FormValues, readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.ts';
import { callApi, dataOf, faultsIn } from '../../own-api.ts';
import { baseUrlOf, type Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { PictureForm } from './picture-form.tsx';
import { tryCall } from './try-call.ts';
import { exampleValues, FIELD_PREFIX, readFields, type TryField, tryFields } from './try-fields.ts';
import { ChooseOperation, TryForm } from './try-form.tsx';
import { Outcome, Price } from './try-outcome.tsx';
import { curlLine, type TryRequest, tryRequest, withOption } from './try-request.ts';

const PATH = '/account/try';

const FIRST = 'market.product';

interface Shown {
  operation: Operation;
  fields: readonly TryField[];
  values: FormValues;
  faults?: FormFaults;
  status?: number;
  /** The call as it was understood. */
  made?: TryRequest;
  result?: VNode;
}

/** Any call, by a form: its price, then its answer, then the line that makes it from a shell. */
export function registerTry(scope: FastifyInstance, pages: Pages): void {
  const { app } = pages;
  scope.get(PATH, (request, reply) => {
    const { values } = readForm(z.object({}), request.query);
    const operation = operationOf(values.operation ?? FIRST);
    const fields = tryFields(operation);
    return send(request, reply, { operation, fields, values: { ...exampleValues(fields), ...values } });
  });

  scope.post(PATH, async (request, reply) => {
    const { values } = readForm(z.object({}), request.body);
    const operation = operationOf(values.operation);
    const fields = tryFields(operation);
    const read = readFields(fields, values);
    if (!read.ok)
      return send(request, reply, { operation, fields, values, faults: read.faults, status: 400 });
    const made = tryRequest(operation, read.parameters);
    const caller = { app, apiKey: customerOf(request).apiKey };
    const shown = { operation, fields, values, made };
    if (values.intent !== 'call') {
      const { method, path, body } = withOption(made, 'dryRun=1');
      const answer = await callApi(caller, method, path, body);
      if (answer.status >= 400) return send(request, reply, { ...shown, ...refusal(answer, fields) });
      return send(request, reply, { ...shown, result: <Price quote={dataOf<QuoteView>(answer)} /> });
    }
    const outcome = await tryCall(caller, made);
    if (outcome.kind === 'accepted') return reply.redirect(`/account/jobs/${outcome.jobId}`, 303);
    const { faults } = outcome.kind === 'refused' ? refusal(outcome, fields) : {};
    // The page itself is fine whatever the call was told, which is shown on it.
    return send(request, reply, {
      ...shown,
      ...(faults ? { faults } : {}),
      result: <Outcome outcome={outcome} />,
    });
  });

  function send(request: FastifyRequest, reply: FastifyReply, shown: Shown): FastifyReply {
    const { operation, fields, values, faults = {}, status = 200, made, result } = shown;
    const csrf = reply.generateCsrf();
    const baseUrl = baseUrlOf(pages, request);
    return sendPage(
      reply,
      <Page
        title="Try it"
        viewer={viewerOf(request, reply)}
        path={PATH}
        styles={['account.css']}
        scripts={['answer.js']}
      >
        <h1>Try it</h1>
        <p class="lead">Calls are real, and charged like those of your programs. The price is free to see.</p>
        <ChooseOperation operation={operation} />
        <section class="card" aria-labelledby="operation">
          <h2 id="operation">{operation.name}</h2>
          <p>
            {operation.summary}{' '}
            <span class="muted">
              {operation.kind === 'queued' ? `Units: ${operation.price.text}.` : 'Free.'}
            </span>
          </p>
          <TryForm operation={operation} fields={fields} csrf={csrf} values={values} faults={faults} />
        </section>
        {result}
        {made && <ForShell line={curlLine(made, baseUrl)} />}
        {!made && <PictureForm csrf={csrf} values={{}} faults={{}} />}
      </Page>,
      status,
    );
  }
}

/** @returns one that exists, whatever was asked for. */
function operationOf(name: string | undefined): Operation {
  const found = OPERATIONS.find((operation) => operation.name === name) ?? OPERATIONS[0];
  if (!found) throw new Error('there are no operations');
  return found;
}

/** What the service had against a call, beside the fields it is about. */
function refusal(
  answer: Pick<Awaited<ReturnType<typeof callApi>>, 'status' | 'envelope'>,
  fields: readonly TryField[],
): { status: number; faults: FormFaults } {
  const faults: FormFaults = {};
  const others: string[] = [];
  for (const { parameter, problem } of faultsIn(answer)) {
    if (fields.some(({ name }) => name === parameter)) faults[FIELD_PREFIX + parameter] ??= problem;
    else others.push(`${parameter} ${problem}`);
  }
  if (Object.keys(faults).length === 0 && others.length === 0) others.push(answer.envelope.msg);
  if (others.length > 0) faults[''] = others.join('; ');
  return { status: answer.status, faults };
}

function ForShell({ line }: { line: string }): VNode {
  return (
    <section class="card" aria-labelledby="shell">
      <h2 id="shell">From a shell</h2>
      <pre class="wrap">
        <code id="curl">{line}</code>
      </pre>
      <button type="button" class="small" data-copy="curl" hidden>
        Copy
      </button>
    </section>
  );
}
