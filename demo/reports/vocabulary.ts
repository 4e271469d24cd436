import { allLeaves, LEAF_COUNT } from '../catalog/categories.ts';

/** The parts of a site's search terms. A noun has its own words before and after it; all have equally many. */
interface Vocabulary {
  nouns: readonly Noun[];
  /** Number of words before and after each noun, each with none as the first. */
  before: number;
  after: number;
  /** Separator between the parts of a term. */
  gap: string;
}

interface Noun {
  text: string;
  leaf: number;
  before: readonly string[];
  after: readonly string[];
}

const TAILS = [
  'gift',
  'replacement',
  'accessories',
  'sale',
  '2026',
  'reviews',
  'near me',
  'bundle',
  'on sale',
];

const TEXTS = new Set(allLeaves().flatMap(({ words }) => words));

/** Returns the words around a noun without those that make another noun: "electric" before "kettle". */
function around(text: string, before: readonly string[], after: readonly string[]) {
  return {
    before: ['', ...before.map((word) => (TEXTS.has(`${word} ${text}`) ? 'quality' : word))],
    after: ['', ...after.map((word) => (TEXTS.has(`${text} ${word}`) ? 'deals' : word))],
  };
}

const englishNouns = allLeaves().flatMap((found, leaf) =>
  found.words.map((text): Noun => {
    const { before, after } = around(text, found.before, found.after);
    return { text, leaf, before, after: ['', ...combined(after.slice(1), ['', ...TAILS])] };
  }),
);

const english = vocabulary(englishNouns);

const VOCABULARIES: Record<string, Vocabulary> = {
  us: vocabulary(withSome(englishNouns, '手机壳,充电宝,耳机,保温杯,猫粮,瑜伽垫,台灯,雨伞')),
  uk: english,
  ca: english,
  de: european(
    'günstig,klein,groß,schwarz,weiß,wasserdicht,kabellos,faltbar,holz,edelstahl',
    'für hunde,für kinder,für damen,für herren,für büro,für reisen,set,ersatz,geschenk,test',
  ),
  fr: european(
    'petit,grand,noir,blanc,étanche,sans fil,pliable,en bois,pas cher,électrique',
    'pour chien,pour enfant,pour femme,pour homme,pour bureau,pour voyage,lot de 2,recharge,cadeau,avis',
  ),
  it: european(
    'piccolo,grande,nero,bianco,impermeabile,senza fili,pieghevole,in legno,economico,elettrico',
    'per cani,per bambini,da donna,da uomo,per ufficio,da viaggio,set,ricambio,regalo,offerta',
  ),
  es: european(
    'pequeño,grande,negro,blanco,impermeable,inalámbrico,plegable,de madera,barato,eléctrico',
    'para perros,para niños,para mujer,para hombre,para oficina,para viaje,juego,recambio,regalo,oferta',
  ),
  mx: european(
    'pequeño,grande,negro,blanco,impermeable,inalámbrico,plegable,de madera,barato,eléctrico',
    'para perro,para niños,para mujer,para hombre,para oficina,para viaje,kit,repuesto,regalo,oferta',
  ),
  jp: vocabulary(
    'ヘッドホン,スピーカー,充電器,モバイルバッテリー,フライパン,収納ボックス,枕,布団カバー,化粧水,日焼け止め,シャンプー,ドライヤー,口紅,ブロック,ボードゲーム,パズル,ヨガマット,テント,寝袋,ライト,犬ベッド,猫砂,猫タワー,水槽,ノート,付箋,デスクライト,万年筆,植木鉢,傘,スマホスタンド,掃除機,哺乳瓶,ベビーカー,水筒'
      .split(',')
      .map((text, i) => ({
        text,
        leaf: (i * 7) % LEAF_COUNT,
        before: [
          '',
          ...'小型 ,大容量 ,防水 ,折りたたみ ,木製 ,黒い,白い,可愛い,高級 ,電動 ,軽量 ,業務用 ,キッズ,メンズ ,レディース '.split(
            ',',
          ),
        ],
        after: [
          '',
          ...combined(' 女性用, 男性用, 子供用, 犬用, 旅行用, 車用, オフィス'.split(','), [
            '',
            ...' おしゃれ, 人気, セット, 安い, 詰め替え, ギフト'.split(','),
          ]),
        ],
      })),
    '',
  ),
};

/**
 * Returns the `n`th search term of a site, always the same, and the leaf of its products. The nouns alone come first, since
 * people search for them most. After all combinations, terms get a number.
 */
export function termAt(site: string, n: number): { term: string; leaf: number } {
  const { nouns, before, after, gap } = VOCABULARIES[site] ?? english;
  const isAlone = n < nouns.length;
  const pairs = before * after - 1;
  const all = nouns.length * pairs;
  // Consecutive terms have different subjects.
  const mixed = isAlone ? (n * STEP) % nouns.length : ((n - nouns.length) * STEP) % all;
  const noun = nouns[mixed % nouns.length];
  const pair = isAlone ? 0 : 1 + Math.floor(mixed / nouns.length);
  const first = noun?.before[pair % before] ?? '';
  const last = noun?.after[Math.floor(pair / before)] ?? '';
  const round = isAlone ? 0 : Math.floor((n - nouns.length) / all);
  let term = first;
  for (const part of [noun?.text ?? '', last, round === 0 ? '' : ` ${round + 1}`])
    if (part !== '') term += term === '' ? part : gap + part;
  return { term, leaf: noun?.leaf ?? 0 };
}

/** A prime, so that its multiples reach every combination. */
const STEP = 1_000_003;

function vocabulary(nouns: readonly Noun[], gap = ' '): Vocabulary {
  return { nouns, before: nouns[0]?.before.length ?? 1, after: nouns[0]?.after.length ?? 1, gap };
}

function european(qualities: string, tails: string): Vocabulary {
  return vocabulary(
    englishNouns.map(({ text, leaf }) => ({
      ...{ text, leaf },
      ...around(text, qualities.split(','), tails.split(',')),
    })),
  );
}

/** Adds some nouns to others. */
function withSome(nouns: readonly Noun[], texts: string): Noun[] {
  const [{ before, after } = { before: [], after: [] }] = nouns;
  return [...nouns, ...texts.split(',').map((text, leaf) => ({ text, leaf, before, after }))];
}

function combined(first: readonly string[], second: readonly string[]): string[] {
  return first.flatMap((one) =>
    second.map((other) => (other === '' ? one : `${one}${other.startsWith(' ') ? '' : ' '}${other}`)),
  );
}
