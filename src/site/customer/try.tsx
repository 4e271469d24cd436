import type { FastifyInstance, FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import type { QuoteView } from '../../api/quote-view.ts';
import type { Operation } from '../../operations/define.ts';
import { existingOperation, OPERATIONS } from '../../operations/index.ts';
import { SITES } from '../../operations/params/domain.ts';
import { ANSWER, Card, Facts, Notice } from '../kit/elements.tsx';
import { Choice, Field, HiddenFields, PostForm, Submit } from '../kit/form.tsx';
import { type FormState, NO_INPUT, postForm, readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { counted } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { ChooseOperation } from './batch-items.tsx';
import { InOtherPrograms } from './call-examples.tsx';
import { type ApiAnswer, callApi, dataOf, refusedForm } from './customer-api.ts';
import { AnswerViewer } from './job-page.tsx';
import { ParameterFields } from './parameter-fields.tsx';
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

const anyFields = z.record(z.string(), z.string());

/** Registers the page that makes any call from a form and shows its price, its answer and a curl command. */
export function registerTry(scope: FastifyInstance, pages: Pages): void {
  scope.get(PATH, async ({ query }, reply) => {
    const values = readValues(query);
    const examples = exampleValues(tryFields(operationOf(values.operation)));
    return show(reply, { values: { ...examples, ...values }, faults: {} });
  });
  postForm(scope, PATH, anyFields, show, async (values, request, reply) => {
    const operation = operationOf(values.operation);
    const fields = tryFields(operation);
    const call = tryRequest(operation, readFields(fields, values));
    if (values.intent === 'call') {
      const outcome = await tryCall(request, call);
      if (outcome.kind === 'accepted') return `/account/jobs/${outcome.jobId}`;
      const faults = outcome.kind === 'refused' ? faultsOf(outcome, fields) : {};
      // With status 200 even if the call was refused: the page shows the refusal.
      return show(reply, { values, faults }, 200, { call, result: <Outcome outcome={outcome} /> });
    }
    const { method, url, body } = withOption(call, 'dryRun=1');
    const answer = await callApi(request, method, url, body);
    if (answer.status >= 400)
      return show(reply, { values, faults: faultsOf(answer, fields) }, answer.status, { call });
    const result = <Price quote={dataOf<QuoteView>(answer)} />;
    return show(reply, { values, faults: {} }, 200, { call, result });
  });

  /** @param made the call that the form describes, and its price or its answer. */
  function show(
    reply: FastifyReply,
    form: FormState,
    status?: number,
    made: { call?: TryRequest; result?: VNode } = {},
  ): FastifyReply {
    const { call, result } = made;
    const operation = operationOf(form.values.operation);
    return sendPage(
      reply,
      <Page title="Try it" styles={['account.css']} scripts={['answer.js']}>
        <p class="lead">
          Calls on this page cost units, like calls of the API. You can check the cost of a call before you
          make it, free of charge.
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
          <TryForm operation={operation} form={form} />
        </section>
        {result && <div {...ANSWER}>{result}</div>}
        {call && <InOtherPrograms name="call" request={call} baseUrl={baseUrlOf(pages, reply.request)} />}
        {!call && <PictureForm form={NO_INPUT} />}
      </Page>,
      status,
    );
  }
}

/** @returns the first operation if no operation has this name. */
function operationOf(name: string | undefined): Operation {
  return OPERATIONS.find((operation) => operation.name === name) ?? existingOperation('market.product');
}

/** The faults of a refused call, by field. */
function faultsOf(answer: ApiAnswer, fields: readonly TryField[]): FormState['faults'] {
  return refusedForm(answer, (parameter) =>
    fields.some(({ name }) => name === parameter) ? FIELD_PREFIX + parameter : undefined,
  ).faults;
}

/** The form of an operation's parameters. */
function TryForm({ operation, form }: { operation: Operation; form: FormState }): VNode {
  return (
    <PostForm action={PATH} form={form}>
      <HiddenFields fields={{ operation: operation.name }} />
      <ParameterFields fields={tryFields(operation)} form={form} />
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

const PICTURE_PATH = `${PATH}/picture`;

/** The largest size that the provider draws. */
const SIZE = { width: '1000', height: '500' };

const pictureForm = z.object({
  asin: z.string().optional(),
  domain: z.string().optional(),
  range: z.string().optional(),
});

/** Registers the page that draws a chart of a product's prices. */
export function registerPicture(scope: FastifyInstance): void {
  // Reloading the page of a chart requests this address.
  scope.get(PICTURE_PATH, (_request, reply) => reply.redirect(PATH, 303));
  postForm(scope, PICTURE_PATH, pictureForm, showPicture, async (values, request, reply) => {
    const url = addressOf('/api/market/graphimage', { ...values, ...SIZE });
    const outcome = await tryCall(request, { method: 'GET', url });
    if (outcome.kind === 'accepted') return `/account/jobs/${outcome.jobId}`;
    if (outcome.kind === 'refused')
      throw refusedForm(outcome, (parameter) => (parameter in pictureForm.shape ? parameter : undefined));
    return showPicture(reply, { values, faults: {} }, 200, outcome);
  });
}

function showPicture(reply: FastifyReply, form: FormState, status?: number, answer: Answered | null = null) {
  const { asin } = form.values;
  return sendPage(
    reply,
    <Page
      title="Price history"
      back={['/account/try', 'Other calls']}
      heading={<>Price history{asin && ` of ${asin}`}</>}
      styles={['account.css']}
      scripts={['answer.js']}
    >
      {answer !== null && answer.jobId !== null && (
        <div {...ANSWER}>
          <AnswerViewer jobId={answer.jobId} isPicture={answer.isPicture} />
        </div>
      )}
      <PictureForm form={form} />
    </Page>,
    status,
  );
}

const RANGES = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
] as const;

/** The form that requests a chart of a product's prices. */
export function PictureForm({ form }: { form: FormState }): VNode {
  return (
    <Card id="price-history" title="Price history of a product">
      <PostForm action={PICTURE_PATH} form={form} class="filters">
        <Field name="asin" label="ASIN" required placeholder="B08N5WRWNX" maxLength={20} />
        <Choice name="domain" label="Site" options={Object.entries(SITES)} />
        <Choice name="range" label="Period" preset="90" options={RANGES} />
        <Submit>Draw the chart (1 unit)</Submit>
      </PostForm>
    </Card>
  );
}
