import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { encode as encodeOld } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as encodeNew } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { tokensIn } from '../../../src/api/mcp/token-bound.ts';

/** Tokens of a text in the tokenizer that needs more of them. */
const most = (text: string) => Math.max(encodeNew(text).length, encodeOld(text).length);

const list = (item: (i: number) => unknown) => JSON.stringify(Array.from({ length: 400 }, (_, i) => item(i)));
const asin = () =>
  `B0${randomBytes(20)
    .toString('base64')
    .replace(/[^A-Z0-9]/gi, '')
    .toUpperCase()
    .slice(0, 8)}`;
const random = (below: number) => randomBytes(4).readUInt32BE() % below;

const TEXTS: Record<string, string> = {
  'a list of ASINs': list(asin),
  'prices and numbers': list(() => [random(10_000_000), random(100_000) / 100, -1]),
  'index times and values': list(() => [7_439_520 + random(100_000), random(5_000)]).replaceAll('],[', ','),
  'points of a history': list((i) => [`2026-${10 + (i % 3)}-${10 + (i % 18)}`, random(10_000) / 100]),
  'ISO times': list((i) => new Date(1.7e12 + i * 86_400_123).toISOString()),
  'rows of a table': list((i) => [
    33 + 16 * i,
    `desk lamp ${i}`,
    i + 1,
    random(90),
    'rising',
    [asin(), asin(), asin()],
  ]),
  'records with keys': list((i) => ({
    asin: asin(),
    title: `Rechargeable LED Desk Lamp ${i}, Dimmable, Black`,
    price: 19.99,
    bsr: random(90_000),
  })),
  'hexadecimal digits': randomBytes(2_000).toString('hex'),
  Chinese:
    '这是一个关于电商平台的数据查询服务，提供商品价格历史、销量排名和关键词趋势。智能水壶的搜索量持续增长，竞争也越来越激烈。'.repeat(
      9,
    ),
  Japanese:
    'この商品は大容量のステンレス製電気ケトルで、保温機能と自動電源オフ機能を備えています。レビュー評価は星四つ以上です。'.repeat(
      9,
    ),
  Korean: '이 제품은 대용량 스테인리스 전기 주전자로 보온 기능과 자동 전원 차단 기능이 있습니다.'.repeat(9),
  Arabic: 'هذه الغلاية الكهربائية مصنوعة من الفولاذ المقاوم للصدأ وتتميز بسعة كبيرة '.repeat(9),
  Russian: 'Этот электрический чайник из нержавеющей стали имеет большую ёмкость. '.repeat(9),
  Greek: 'Αυτός ο βραστήρας από ανοξείδωτο ατσάλι έχει μεγάλη χωρητικότητα. '.repeat(9),
  German: 'Dieser Wasserkocher aus Edelstahl hat ein großes Fassungsvermögen und schaltet sich ab. '.repeat(
    9,
  ),
  emoji: '🔥💧🎉🇩🇪👍🏽'.repeat(40),
  'English with code': readFileSync(new URL('../../../CONTRIBUTING.md', import.meta.url), 'utf8'),
};

test.for(Object.keys(TEXTS))(
  'is at least the number of tokens of %s, and not more than three times as many',
  (name) => {
    const text = TEXTS[name] ?? '';
    const bound = tokensIn(text);
    expect(bound).toBeGreaterThanOrEqual(most(text));
    expect(bound).toBeLessThan(3 * most(text));
  },
);

test('an empty text has no tokens', () => {
  expect(tokensIn('')).toBe(0);
});
