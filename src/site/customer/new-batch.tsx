import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import type { BatchView } from '../../batches/batch.ts';
import { QUEUED, queuedOperation } from '../../operations/index.ts';
import { ANSWER } from '../kit/elements.tsx';
import { Field, Fields, HiddenFields, PostForm, withZone } from '../kit/form.tsx';
import { type FormState, type FormValues, jsonOf, onSubmit, readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { optional } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { counted } from '../kit/words.tsx';
import {
  BatchItemsFields,
  batchOperation,
  ChooseOperation,
  fieldsOf,
  listParameterOf,
  optionalNumber,
  readBatchForm,
  WINDOWS,
} from './batch-items.tsx';
import { callApi, dataOf, refusedForm } from './customer-api.ts';
import { acceptFiles, FILE_FORM_BYTES, type FormFile } from './uploads/file-form.ts';
import { readFile } from './uploads/read-file.ts';

const NEW = '/account/batches/new';

/** Registers the form that shows the price of a batch and starts it. */
export function registerNewBatch(scope: FastifyInstance): void {
  scope.register(async (own) => {
    acceptFiles(own);
    own.get(NEW, async ({ query }, reply) => showForm(reply, { values: readValues(query), faults: {} }));
    const options = { bodyLimit: FILE_FORM_BYTES, preHandler: readItems };
    own.post(NEW, options, onSubmit(readBatch, showForm, submitBatch));
  });
}

/** What the page shows of a file: the first rows, and where the items come from. */
const previewOf = z.object({
  name: z.string(),
  count: z.number(),
  heading: z.string().nullable(),
  first: z.array(z.array(z.string())),
});

type Preview = z.output<typeof previewOf>;

/** Replaces a file by its items. */
async function readItems(request: FastifyRequest): Promise<void> {
  const { file, ...fields } = (request.body ?? {}) as { file?: FormFile; operation?: string };
  if (typeof file !== 'object') return;
  const operation = queuedOperation(String(fields.operation));
  const listed = operation && listParameterOf(operation);
  const column = await readFile(file.bytes, listed === 'asins' || listed === 'asin' ? 'asins' : 'texts');
  if ('problem' in column) {
    request.body = { ...fields, fileFault: column.problem };
    return;
  }
  const { values, heading, first } = column;
  const preview: Preview = { name: file.name.slice(0, 100), count: values.length, heading, first };
  request.body = { ...fields, layout: 'list', items: values.join('\n'), preview: JSON.stringify(preview) };
}

function readBatch(body: unknown) {
  const sent = readValues(body);
  if (sent.fileFault !== undefined)
    return { ok: false as const, values: sent, faults: { file: sent.fileFault } };
  return readBatchForm(batchForm, sent);
}

type BatchInput = Extract<ReturnType<typeof readBatch>, { ok: true }>['input'];

/** Starts the batch, or shows its price. */
async function submitBatch(
  { batchItems, ...settings }: BatchInput,
  request: FastifyRequest,
  reply: FastifyReply,
  values: FormValues,
): Promise<string | FastifyReply> {
  const isStart = values.intent === 'start';
  const { idempotencyKey } = values;
  const body = { ...settings, ...batchItems, ...(idempotencyKey ? { idempotencyKey } : {}) };
  const answer = await callApi(request, 'POST', `/api/batches${isStart ? '' : '?dryRun=1'}`, body);
  if (answer.status >= 400) throw refusedForm(answer, fieldsOf(batchForm));
  if (isStart) return `/account/batches/${dataOf<BatchView>(answer).batchId}`;
  return showForm(reply, { values, faults: {} }, 200, dataOf<BatchQuote>(answer));
}

function showForm(reply: FastifyReply, form: FormState, status?: number, quote: BatchQuote | null = null) {
  return sendPage(
    reply,
    <Page title="New batch" styles={['account.css']} scripts={['upload.js']}>
      <ChooseOperation path={NEW} operation={batchOperation(form.values)} operations={QUEUED} />
      <BatchForm form={form} quote={quote} />
    </Page>,
    status,
  );
}

/** The fields of a batch besides its operation and items. */
const batchForm = z.object({
  name: optional(z.string()),
  maxUnits: optionalNumber,
  window: optional(z.string()),
  deadline: optional(z.string().transform(withZone)),
  webhook: optional(z.string().trim()),
});

/** The price of a batch that has not been started. */
interface BatchQuote {
  items: number;
  calls: number;
  units: number;
  /** Why it would be refused now; null: it would be accepted. */
  rejectMessage: string | null;
}

function BatchForm({ form, quote }: { form: FormState; quote: BatchQuote | null }): VNode {
  const { data: preview } = previewOf.safeParse(jsonOf(form.values.preview ?? ''));
  return (
    <PostForm action={NEW} form={form} hasFile>
      {preview && <FilePreview preview={preview} />}
      {/* With the key, a form that is sent twice creates one batch. */}
      <HiddenFields fields={{ idempotencyKey: uuid() }} />
      <BatchItemsFields operation={batchOperation(form.values)} form={form} file={<FileField />} />
      <BatchOptions />
      {quote && (
        <output class={`notice ${quote.rejectMessage === null ? 'good' : 'bad'}`} {...ANSWER}>
          <p>
            <strong>At most {counted(quote.units, 'unit')}</strong> for {counted(quote.items, 'item')} in{' '}
            {counted(quote.calls, 'call')}. The batch has not been started.
          </p>
          {quote.rejectMessage !== null && <p>It would be refused now: {quote.rejectMessage}</p>}
        </output>
      )}
      <div class="buttons">
        <button type="submit" name="intent" value="price">
          Check cost
        </button>
        <button type="submit" name="intent" value="start" class="primary">
          Start the batch
        </button>
      </div>
    </PostForm>
  );
}

function FileField(): VNode {
  return (
    <Field
      name="file"
      label="File"
      type="file"
      accept=".csv,.tsv,.txt,.xlsx"
      data-drop
      hint="A CSV, text or XLSX file with a column of ASINs or terms, up to 4 MiB. You can drop it on this page. A file replaces the items below."
    />
  );
}

/** The first rows of a file, below what was found in it. Its first row is the heading of the table. */
function FilePreview({ preview }: { preview: Preview }): VNode {
  const { name, count, heading, first } = preview;
  const [head = [], ...rows] = heading === null ? [[], ...first] : first;
  const columns = first[0] ?? [];
  return (
    <section aria-label="File">
      <p>
        {counted(count, 'item')} {heading === null ? '' : `of the column ${heading} `}from {name}. The first
        rows:
      </p>
      <Table
        name="First rows of the file"
        stacks={false}
        rows={rows}
        empty="No rows."
        columns={columns.map((_, i) => [
          head[i] ?? `Column ${i + 1}`,
          (row: readonly string[]) => row[i] ?? '',
        ])}
      />
    </section>
  );
}

function BatchOptions(): VNode {
  const webhookHint = (
    <>
      Called when the batch finishes. Requires a <a href="/account/webhooks">signing secret</a>.
    </>
  );
  const deadlineHint = 'Items that have not finished by then fail. Default: one week.';
  return (
    <fieldset>
      <legend>Options</legend>
      <div class="fields">
        <Fields
          rows={[
            ['name', 'Name', { hint: 'Shown only to you.' }],
            [
              'maxUnits',
              'Maximum units',
              { type: 'number', min: 0, hint: 'A batch that could cost more is refused.' },
            ],
            ['window', 'Hours', { options: WINDOWS }],
            ['deadline', 'Deadline (UTC)', { type: 'datetime-local', hint: deadlineHint }],
            ['webhook', 'Webhook', { type: 'url', hint: webhookHint }],
          ]}
        />
      </div>
    </fieldset>
  );
}
