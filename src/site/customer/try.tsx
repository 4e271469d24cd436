import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { QuoteView } from '../../api/quote-view.ts';
import type { Operation } from '../../operations/define.ts';
import { OPERATIONS } from '../../operations/index.ts';
import { ANSWER, Card, Facts, Notice } from '../kit/elements.tsx';
import { HiddenFields, PostForm } from '../kit/form.tsx';
import { type FormState, NO_INPUT, readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { counted } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { ChooseOperation } from './batch-items.tsx';
import { InOtherPrograms } from './call-examples.tsx';
import { type ApiAnswer, callApi, dataOf, refusedForm } from './customer-api.ts';
import { AnswerViewer } from './job-page.tsx';
import { ParameterFields } from './parameter-fields.tsx';
import { PictureForm } from './try-picture.tsx';
import {
  type Answered,
  exampleValues,
  FIELD_PREFIX,
  type Refused,
  readFields,
  type TryField,
  type TryRequest,
  tryCall,
  tryFields,
  tryRequest,
  withOption,
} from './try-request.ts';

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
      <p class="lead">
        Calls on this page cost units, like calls of the API. You can check the cost of a call before you make
        it, free of charge.
      </p>
      <ChooseOperation path={PATH} operation={operation} operations={OPERATIONS} />
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
      {result && <div {...ANSWER}>{result}</div>}
      {call && <InOtherPrograms name="call" request={call} baseUrl={baseUrlOf(pages, reply.request)} />}
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

/** The form of an operation's parameters. */
function TryForm(props: { operation: Operation; fields: readonly TryField[]; form: FormState }): VNode {
  const { operation, fields, form } = props;
  return (
    <PostForm action={PATH} form={form}>
      <HiddenFields fields={{ operation: operation.name }} />
      <ParameterFields fields={fields} form={form} />
      <div class="buttons">
        <button type="submit" name="intent" value="price">
          Check cost
        </button>
        <button type="submit" name="intent" value="call" class="primary">
          Call
        </button>
      </div>
    </PostForm>
  );
}

/** The price of a call, and whether it would be accepted. */
function Price({ quote }: { quote: QuoteView }): VNode {
  const { units, admitted, rejectMessage, rejectReason, deduplicated } = quote;
  return (
    <output class={`notice ${admitted ? 'good' : 'bad'}`}>
      <p>
        <strong>{`At most ${counted(units, 'unit')}.`}</strong>{' '}
        {deduplicated && 'You made this call within the last five minutes, so it is free. '}
        {admitted
          ? 'You can make this call now. It has not been made yet.'
          : `This call cannot be made now: ${rejectMessage} `}
        {!admitted && <code>{rejectReason}</code>}
      </p>
    </output>
  );
}

/** The answer or the error of a call. */
function Outcome({ outcome }: { outcome: Answered | Refused }): VNode {
  if (outcome.kind === 'refused') {
    const { status, header, envelope } = outcome;
    return (
      <Card id="answer" title="Answer">
        <Notice tone="bad" role="alert">
          <strong>{status}</strong> <code>{envelope.code}</code> {envelope.msg}
        </Notice>
        <Headers header={header} />
        <Written text={JSON.stringify(envelope, null, 2)} />
      </Card>
    );
  }
  const { status, header, text, jobId, isPicture } = outcome;
  return (
    <Card id="answer" title="Answer">
      <p>
        <span class="tag good">{status}</span> {charged(header)}
      </p>
      <Headers header={header} />
      {text !== null && <Written text={text} />}
      {text === null && jobId !== null && <AnswerViewer jobId={jobId} isPicture={isPicture} />}
    </Card>
  );
}

function charged(header: Answered['header']): string {
  const units = Number(header('x-units-consumed') ?? 0);
  if (header('x-deduplicated') === 'true')
    return 'Nothing was charged because you made the same call within the last five minutes.';
  if (units === 0) return 'Nothing was charged.';
  return `${counted(units, 'unit')} ${units === 1 ? 'was' : 'were'} charged.`;
}

/** Headers that are shown, in this order. */
const SHOWN_HEADERS = [
  'x-units-consumed',
  'x-cache',
  'x-deduplicated',
  'x-response-time',
  'x-job-id',
  'x-request-id',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
];

function Headers({ header }: Pick<Answered, 'header'>): VNode {
  const shown = SHOWN_HEADERS.map((name) => [<code>{name}</code>, header(name)] as const);
  return (
    <details>
      <summary>Headers</summary>
      <Facts facts={shown.filter(([, value]) => value !== undefined)} />
    </details>
  );
}

function Written({ text }: { text: string }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: an element that scrolls must be reachable with the keyboard.
    <pre class="answer" tabIndex={0}>
      <code>{text}</code>
    </pre>
  );
}
