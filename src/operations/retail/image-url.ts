import { z } from 'zod';
import { site } from '../answers.ts';
import { defineLocal } from '../define.ts';
import { DOMAIN_NAMES, domain } from '../params/domain.ts';
import { list } from '../params/lists.ts';
import { Fault, type JsonSchema, request } from '../params/request.ts';

const FILE_NAME_SCHEMA: JsonSchema = {
  type: 'string',
  pattern: '^(?:[A-Za-z0-9_+~-]+\\.)+(?:jpe?g|png|gif|webp|avif|bmp|tiff?|svg)$',
  maxLength: 200,
  examples: ['51abcDEFgh1L.jpg'],
};

const answer = z.object({
  ...site(),
  count: z.int().min(0),
  items: z.array(z.object({ image: z.string().describe('File name'), url: z.url() })),
});

export const imageUrl = defineLocal({
  name: 'retail.imageurl',
  summary: 'Returns the addresses of product images, from their file names.',
  tool: 'retail_get_image_url',
  toolset: 'visuals',
  routes: [{ method: 'GET', path: '/api/retail/imageurl' }],
  answer,
  records: { path: 'items' },
  params: request(
    { domain: DOMAIN_NAMES, images: ['image', 'images'] },
    {
      domain: domain(),
      images: list(
        { item: 'file name', max: 1000, schema: FILE_NAME_SCHEMA, parse: parseFileName, sorted: false },
        '1-1000 image file names, in image and images together; duplicates count once',
      ),
    },
  ),
});

/** Accepts only a file name with an image extension: a path would lead elsewhere on the image host. */
function parseFileName(name: string): string | Fault {
  if (/[/\\]|\.\./.test(name)) return new Fault('must be a file name without a path');
  if (!/\.(jpe?g|png|gif|webp|avif|bmp|tiff?|svg)$/i.test(name)) {
    return new Fault('must end in an image extension such as .jpg');
  }
  return /^(?:[\w+.~-]|%2B){1,200}$/i.test(name)
    ? name
    : new Fault('must contain only letters, digits and + . _ ~ -');
}
