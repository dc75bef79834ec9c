// Numbers and answers in the words of a reader.

export function probability(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value > 0 && value < 0.0005) return "<0.001";
  if (value < 1 && value >= 0.9995) return ">0.999";
  return value.toFixed(3);
}

// "≈ 0.535" for an estimate.
export const about = (value, accuracy) => `${accuracy === "estimate" ? "≈ " : ""}${probability(value)}`;

// What the probabilities of a ranking are.
export function estimates(ranking) {
  const some = ranking.filter(({ accuracy }) => accuracy === "estimate").length;
  if (!some) return "The probabilities shown are exact.";
  if (some === ranking.length) return "The probabilities shown are estimates.";
  return `Of the probabilities shown, ${some} of ${ranking.length} are estimates, marked ≈; the others are exact.`;
}

export const count = (value) => value.toLocaleString("en");

export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

export const signed = (value) => (value === null ? "–" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`);

// With a true minus sign, and none before a zero.
export function minus(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) > 0 ? `−${text}` : text;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.max(1, Math.round(1000 * seconds))} ms`;
  return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}

export const KINDS = {
  exact: "exact",
  lower_bound: "lower bound",
  upper_bound: "upper bound",
  estimate: "estimate",
};

const MEANINGS = {
  exact: "It is exact: nothing was approximated.",
  lower_bound: "It is a lower bound: the true value is this or higher.",
  upper_bound: "It is an upper bound: the true value is this or lower.",
  estimate: "It is an estimate: the true value may be higher or lower. A check can tell how far to trust it.",
};

export const meaning = (kind) => MEANINGS[kind] ?? "";

// "About 1 case in 12 looks like this." ln P of hard observations only: likelihoods are no frequencies.
export function frequency(logLikelihood) {
  const cases = Math.exp(-(logLikelihood ?? NaN));
  if (!Number.isFinite(cases) || cases < 1) return "";
  if (cases < 1.05) return "Nearly every case looks like this.";
  if (cases < 10) return `About ${Math.round(100 / cases)} of 100 cases look like this.`;
  if (cases > 1e12) return "Fewer than one case in a million million looks like this.";
  return `About 1 case in ${count(Number(cases.toPrecision(2)))} looks like this.`;
}

// The sentences of the service start small and have no full stop where Python joins them.
export function sentence(text) {
  const whole = String(text ?? "").trim();
  if (!whole) return "";
  const large = whole[0].toUpperCase() + whole.slice(1);
  return /[.!?…]$/.test(large) ? large : `${large}.`;
}

// How a likelihood reads: "probably yes, 4 to 1".
export function leaning({ on, off }, [offWord, onWord]) {
  if (on === off) return "no information";
  const [word, ratio] = on > off ? [onWord, on / off] : [offWord, off / on];
  const digits = ratio < 10 && !Number.isInteger(Number(ratio.toFixed(1))) ? 1 : 0;
  const odds = Number.isFinite(ratio) ? `${count(Number(ratio.toFixed(digits)))} to 1` : "certain";
  return `${ratio >= 20 ? "almost surely" : ratio >= 3 ? "probably" : "perhaps"} ${word}, ${odds}`;
}

// "19 Nov 2026, 04:38", which is read in the same way everywhere.
export function moment(date) {
  const value = new Date(date);
  const style = { dateStyle: "medium", timeStyle: "short" };
  return Number.isNaN(value.getTime()) ? "–" : value.toLocaleString("en-GB", style);
}
