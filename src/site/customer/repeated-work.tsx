import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { ButtonLink, Card, Tag } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { type Form, type FormState, type FormValues, onSubmit, readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { ListPage, MorePages } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { BATCH_FORM_BYTES } from './batch-items.tsx';
import { apiData, apiList, callApi, dataOf, idIn, refusedForm } from './customer-api.ts';

/** The form of a schedule or a tracker, as it is shown. */
export interface WorkForm<View> {
  action: string;
  form: FormState;
  /** What is changed; null for a new one. */
  present: View | null;
  /** What the form would save, with its price; null: it has not been checked, or a field is not valid. */
  checked: View | null;
  /** Whether the form has been sent. */
  isSent: boolean;
}

/** Work that is repeated at set times: how its pages differ from those of the other kind. */
interface RepeatedWork<View extends { name: string; paused: boolean }, Input, Past> {
  noun: 'schedule' | 'tracker';
  lead: string;
  List: (props: { rows: readonly View[] }) => VNode;
  idOf(view: View): string;
  /** An address to use instead, if there is nothing with the id of the request. */
  elsewhere?(request: FastifyRequest): Promise<string | null>;
  wide?: boolean;
  /** Further style sheets and scripts of its pages. */
  files?: { styles: readonly string[]; scripts: readonly string[] };
  /** What follows the list, or the facts of one. */
  More?(request: FastifyRequest, view: View | null): Promise<VNode | null>;
  runButton: string;
  /** The page that follows a run. @param answer of the API. */
  afterRun(answer: unknown): string | null;
  deleteQuestion(name: string): string;
  Facts: (props: { of: View }) => VNode;
  /** What has happened, a list of the API with the name of its path. */
  past: {
    name: string;
    title: string;
    limit: number;
    Table: (props: { rows: readonly Past[]; of: View }) => VNode;
  };
  read(body: unknown, isNew: boolean): Form<Input>;
  /** The body of the request that creates or changes it. */
  body(input: Input, values: FormValues, present: View | null): object;
  valuesOf(view: View): FormValues;
  /** The field of the form for a parameter of the API. */
  fieldOf(parameter: string, values: FormValues): string | undefined;
  Form: (props: WorkForm<View>) => VNode;
}

/** Registers the pages that list, show, create, change, pause, run and delete schedules or trackers. */
export function registerRepeatedWork<View extends { name: string; paused: boolean }, Input, Past>(
  scope: FastifyInstance,
  work: RepeatedWork<View, Input, Past>,
): void {
  const { noun, idOf } = work;
  const title = `${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`;
  const path = `/account/${noun}s`;
  const urlOf = (request: FastifyRequest) => `/api/${noun}s/${idIn(request)}`;

  scope.get(path, async (request, reply) => {
    const list = await apiList<View>(request, { url: `/api/${noun}s`, name: `${noun}s` });
    const more = await work.More?.(request, null);
    return sendPage(
      reply,
      <ListPage
        title={title}
        create={[`${path}/new`, `New ${noun}`]}
        lead={work.lead}
        path={path}
        list={list}
        styles={stylesOf(work)}
        note={more}
      >
        <work.List rows={list.items} />
      </ListPage>,
    );
  });
  scope.get(`${path}/:id`, async (request, reply) => {
    const found = await callApi(request, 'GET', urlOf(request));
    const elsewhere = found.status === 404 ? await work.elsewhere?.(request) : null;
    if (elsewhere) return reply.redirect(elsewhere, 303);
    const view = dataOf<View>(found);
    const { name, title: heading, limit, Table } = work.past;
    const past = await apiList<Past>(request, { url: `${urlOf(request)}/${name}`, name, limit });
    const more = await work.More?.(request, view);
    return sendPage(
      reply,
      <Page
        title={view.name}
        back={[path, `All ${noun}s`]}
        heading={[view.name, ' ', view.paused && <Tag tone="warn">paused</Tag>]}
        styles={stylesOf(work)}
        wide={work.wide ?? false}
      >
        <Actions path={`${path}/${idOf(view)}`} view={view} work={work} />
        <Card>
          <work.Facts of={view} />
        </Card>
        {more}
        <h2>{heading}</h2>
        <div id={name} data-refresh="15">
          <Table rows={past.items} of={view} />
        </div>
        <MorePages path={`${path}/${idOf(view)}`} list={past} />
      </Page>,
    );
  });
  for (const paused of [true, false])
    scope.post(`${path}/:id/${paused ? 'pause' : 'resume'}`, async (request, reply) => {
      const view = await apiData<View>(request, 'PATCH', urlOf(request), { paused });
      return reply.redirect(`${path}/${idOf(view)}`, 303);
    });
  scope.post(`${path}/:id/run`, async (request, reply) => {
    const answer = await apiData(request, 'POST', `${urlOf(request)}/run`);
    return reply.redirect(work.afterRun(answer) ?? `${path}/${idIn(request)}`, 303);
  });
  scope.post(`${path}/:id/delete`, async (request, reply) => {
    await apiData(request, 'DELETE', urlOf(request));
    return reply.redirect(path, 303);
  });
  registerForms(scope, work);
}

function stylesOf({ files }: { files?: { styles: readonly string[] } | undefined }): string[] {
  return ['account.css', ...(files?.styles ?? [])];
}

function Actions<View extends { name: string; paused: boolean }>(props: {
  path: string;
  view: View;
  work: { runButton: string; deleteQuestion(name: string): string };
}): VNode {
  const { path, view, work } = props;
  return (
    <div class="buttons">
      <PostButton action={`${path}/run`} class="primary">
        {work.runButton}
      </PostButton>
      <PostButton action={`${path}/${view.paused ? 'resume' : 'pause'}`}>
        {view.paused ? 'Resume' : 'Pause'}
      </PostButton>
      <div>
        <ButtonLink to={`${path}/edit`}>Edit</ButtonLink>
      </div>
      <PostButton action={`${path}/delete`} confirm={work.deleteQuestion(view.name)} class="danger">
        Delete
      </PostButton>
    </div>
  );
}

/** Registers the forms that create and change it, and show its price before saving. */
function registerForms<View extends { name: string; paused: boolean }, Input, Past>(
  scope: FastifyInstance,
  work: RepeatedWork<View, Input, Past>,
): void {
  const { noun, idOf } = work;
  const path = `/account/${noun}s`;
  const isNew = ({ params }: FastifyRequest) => (params as { id?: string }).id === undefined;
  const presentOf = async (request: FastifyRequest): Promise<View | null> =>
    isNew(request) ? null : apiData<View>(request, 'GET', `/api/${noun}s/${idIn(request)}`);

  // The pages with data link here with the fields of what they show.
  scope.get(`${path}/new`, async ({ query }, reply) =>
    sendForm(reply, { present: null, form: { values: readValues(query), faults: {} } }),
  );
  scope.get(`${path}/:id/edit`, async (request, reply) => {
    const present = await presentOf(request);
    const values = { ...(present && work.valuesOf(present)), ...readValues(request.query) };
    return sendForm(reply, { present, form: { values, faults: {} } });
  });
  for (const address of [`${path}/new`, `${path}/:id/edit`])
    scope.post(
      address,
      { bodyLimit: BATCH_FORM_BYTES },
      onSubmit((body) => work.read(body, address === `${path}/new`), showAgain, submit),
    );

  /** Saves it, or shows its price. */
  async function submit(input: Input, request: FastifyRequest, reply: FastifyReply, values: FormValues) {
    const isSave = values.intent === 'save';
    const present = await presentOf(request);
    const url = present ? `/api/${noun}s/${idOf(present)}` : `/api/${noun}s`;
    const body = work.body(input, values, present);
    const answer = await callApi(request, present ? 'PATCH' : 'POST', isSave ? url : `${url}?dryRun=1`, body);
    if (answer.status >= 400) throw refusedForm(answer, (parameter) => work.fieldOf(parameter, values));
    const checked = dataOf<View>(answer);
    if (isSave) return `${path}/${idOf(checked)}`;
    return sendForm(reply, { present, form: { values, faults: {} }, checked, isSent: true });
  }

  async function showAgain(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    return sendForm(reply, { present: await presentOf(reply.request), form, isSent: true }, status);
  }

  function sendForm(
    reply: FastifyReply,
    shown: Pick<WorkForm<View>, 'present' | 'form'> & Partial<WorkForm<View>>,
    status?: number,
  ): FastifyReply {
    const { present, checked = null, isSent = false } = shown;
    const action = present ? `${path}/${idOf(present)}/edit` : `${path}/new`;
    return sendPage(
      reply,
      <Page
        title={present ? `Edit ${present.name}` : `New ${noun}`}
        styles={stylesOf(work)}
        scripts={work.files?.scripts ?? []}
      >
        <work.Form {...shown} action={action} checked={checked} isSent={isSent} />
      </Page>,
      status,
    );
  }
}
