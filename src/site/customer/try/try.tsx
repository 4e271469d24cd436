import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { QuoteView } from '../../../api/quote-view.ts';
import type { Operation } from '../../../operations/define.ts';
import { OPERATIONS } from '../../../operations/index.ts';
import { type FormState, NO_INPUT, readValues } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { baseUrlOf, type Pages } from '../../pages.ts';
import { type ApiAnswer, callApi, dataOf, refusedForm } from '../customer-api.ts';
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
  form: FormState;
  status?: number;
  /** The request that the form describes. */
  call?: TryRequest;
  result?: VNode;
}

/** Registers the page that makes any call from a form and shows its price, its answer and a curl command. */
export function registerTry(scope: FastifyInstance, pages: Pages): void {
  scope.get(PATH, showTry);
  scope.post(PATH, submit);

  async function showTry(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const values = readValues(request.query);
    const operation = operationOf(values.operation ?? FIRST);
    const fields = tryFields(operation);
    const form = { values: { ...exampleValues(fields), ...values }, faults: {} };
    return sendTry(pages, reply, { operation, fields, form });
  }

  async function submit(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const values = readValues(request.body);
    const operation = operationOf(values.operation);
    const fields = tryFields(operation);
    const read = readFields(fields, values);
    if (!read.ok) {
      const form = { values, faults: read.faults };
      return sendTry(pages, reply, { operation, fields, form, status: 400 });
    }
    const call = tryRequest(operation, read.parameters);
    const shown = { operation, fields, form: { values, faults: {} }, call };
    return values.intent === 'call' ? makeCall(reply, shown) : showPrice(reply, shown);
  }

  async function showPrice(reply: FastifyReply, shown: Shown & { call: TryRequest }): Promise<FastifyReply> {
    const { method, url, body } = withOption(shown.call, 'dryRun=1');
    const answer = await callApi(reply.request, method, url, body);
    if (answer.status >= 400) {
      const form = { values: shown.form.values, faults: faultsOf(answer, shown.fields) };
      return sendTry(pages, reply, { ...shown, form, status: answer.status });
    }
    return sendTry(pages, reply, { ...shown, result: <Price quote={dataOf<QuoteView>(answer)} /> });
  }

  /** The page is sent with status 200 even if the call was refused: it shows the refusal. */
  async function makeCall(reply: FastifyReply, shown: Shown & { call: TryRequest }): Promise<FastifyReply> {
    const outcome = await tryCall(reply.request, shown.call);
    if (outcome.kind === 'accepted') return reply.redirect(`/account/jobs/${outcome.jobId}`, 303);
    const faults = outcome.kind === 'refused' ? faultsOf(outcome, shown.fields) : {};
    const form = { values: shown.form.values, faults };
    return sendTry(pages, reply, { ...shown, form, result: <Outcome outcome={outcome} /> });
  }
}

function sendTry(pages: Pages, reply: FastifyReply, shown: Shown): FastifyReply {
  const { operation, fields, form, status, call, result } = shown;
  return sendPage(
    reply,
    <Page title="Try it" styles={['account.css']} scripts={['answer.js']}>
      <h1>Try it</h1>
      <p class="lead">
        Calls cost units as through the API. You can see the price of a call before you make it, free of
        charge.
      </p>
      <ChooseOperation operation={operation} />
      <section class="card" aria-labelledby="operation">
        <h2 id="operation">{operation.name}</h2>
        <p>
          {operation.summary}{' '}
          <span class="muted">
            {operation.kind === 'queued' ? `Units: ${operation.price.text}.` : 'Free.'}
          </span>
        </p>
        <TryForm operation={operation} fields={fields} form={form} />
      </section>
      <div id="outcome">{result}</div>
      {call && <ForShell line={curlLine(call, baseUrlOf(pages, reply.request))} />}
      {!call && <PictureForm form={NO_INPUT} />}
    </Page>,
    status,
  );
}

/** @returns the first operation if no operation has this name. */
function operationOf(name: string | undefined): Operation {
  const found = OPERATIONS.find((operation) => operation.name === name) ?? OPERATIONS[0];
  if (!found) throw new Error('there are no operations');
  return found;
}

/** The faults of a refused call, by field. */
function faultsOf(answer: ApiAnswer, fields: readonly TryField[]): FormState['faults'] {
  return refusedForm(answer, (parameter) =>
    fields.some(({ name }) => name === parameter) ? FIELD_PREFIX + parameter : undefined,
  ).faults;
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
