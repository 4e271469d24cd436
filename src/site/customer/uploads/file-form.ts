import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Limit of a form with a file or with its items. */
export const FILE_FORM_BYTES = 4 * 2 ** 20;

/** A file of a form. */
export interface FormFile {
  name: string;
  bytes: Uint8Array;
}

/** Accepts forms with a file (multipart/form-data), from people who are signed in. The other fields are texts. */
export function acceptFiles(scope: FastifyInstance): void {
  // Before the body is read.
  scope.addHook('onRequest', async (request, reply) =>
    request.session ? undefined : reply.redirect('/sign-in', 303),
  );
  const options = { parseAs: 'buffer', bodyLimit: FILE_FORM_BYTES } as const;
  scope.addContentTypeParser(
    'multipart/form-data',
    options,
    async (request: FastifyRequest, body: Buffer) => {
      const headers = { 'content-type': request.headers['content-type'] ?? '' };
      const form = await new Response(new Uint8Array(body), { headers })
        .formData()
        .catch(() => new FormData());
      const fields = await Promise.all(
        [...form].map(async ([name, value]): Promise<[string, string | FormFile | undefined]> => {
          if (typeof value === 'string') return [name, value];
          // A form without a chosen file has an empty one.
          return [name, value.size === 0 ? undefined : { name: value.name, bytes: await value.bytes() }];
        }),
      );
      return Object.fromEntries(fields);
    },
  );
}
