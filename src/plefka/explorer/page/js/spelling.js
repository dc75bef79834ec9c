// The words of all names that are spelt nearly as another word.

const SHORTEST = 3; // letters of a word that is compared: shorter ones resemble everything
const LONGEST = 40;
const MOST = 3;
const UNFINISHED = 0.5; // what it costs that the word goes on: somebody may still be typing

export class Spelling {
  constructor(names) {
    this.words = new Map(); // folded -> as it is written in a name
    for (const name of names) {
      const parts = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
      for (const part of parts) {
        this.#add(part, part);
        for (const piece of part.split(/(?<=\p{Ll})(?=\p{Lu})/u)) this.#add(piece, piece);
      }
      this.#add(parts.join(""), parts.join(" ")); // written without a space
    }
    this.letters = new Map([...this.words.keys()].map((word) => [word, letters(word)]));
  }

  #add(word, written) {
    const folded = word.toLowerCase();
    if (folded.length >= SHORTEST && folded.length <= LONGEST && !this.words.has(folded))
      this.words.set(folded, written);
  }

  // The nearest first, as they are written; [] if none is near.
  similar(word) {
    const wanted = word.toLowerCase();
    if (wanted.length < SHORTEST || wanted.length > LONGEST) return [];
    const most = wanted.length < 5 ? 1 : wanted.length < 9 ? 2 : 3;
    const own = letters(wanted);
    const found = [];
    for (const [other, written] of this.words) {
      if (other.length < wanted.length - most) continue;
      if (ones(own & ~this.letters.get(other)) > most) continue; // each of these letters is one mistake
      const cost = distance(wanted, other, most, written.includes(" "));
      if (cost <= most) found.push({ written, cost, other });
    }
    found.sort((a, b) => a.cost - b.cost || a.other.length - b.other.length);
    const nearest = found[0]?.cost ?? 0;
    return found
      .filter(({ cost }) => cost <= nearest + UNFINISHED)
      .slice(0, MOST)
      .map(({ written }) => written);
  }
}

// A bit for each letter that occurs.
function letters(word) {
  let bits = 0;
  for (let k = 0; k < word.length; k += 1) bits |= 1 << word.charCodeAt(k) % 31;
  return bits;
}

function ones(bits) {
  let total = 0;
  for (let rest = bits; rest; rest &= rest - 1) total += 1;
  return total;
}

let [before, previous, current] = [0, 0, 0].map(() => new Uint8Array(LONGEST + 2));

// Letters to add, leave out, exchange, or swap with their neighbour, between the word and the other one, or how the
// other one begins; more than `most` if it is more. `isWhole`: only the whole other one counts.
function distance(word, other, most, isWhole) {
  const size = Math.min(other.length, word.length + most);
  for (let k = 0; k <= size; k += 1) previous[k] = k;
  for (let row = 1; row <= word.length; row += 1) {
    current[0] = row;
    let least = row;
    for (let k = 1; k <= size; k += 1) {
      const isSame = word[row - 1] === other[k - 1];
      let cost = Math.min(previous[k] + 1, current[k - 1] + 1, previous[k - 1] + (isSame ? 0 : 1));
      const isSwapped = row > 1 && k > 1 && word[row - 1] === other[k - 2] && word[row - 2] === other[k - 1];
      if (isSwapped) cost = Math.min(cost, before[k - 2] + 1);
      current[k] = cost;
      least = Math.min(least, cost);
    }
    if (least > most) return Infinity;
    [before, previous, current] = [previous, current, before];
  }
  const whole = size === other.length ? previous[size] : Infinity;
  let begun = Infinity;
  if (word.length > SHORTEST && !isWhole) for (let k = 0; k <= size; k += 1) begun = Math.min(begun, previous[k]);
  return Math.min(whole, begun + UNFINISHED);
}
