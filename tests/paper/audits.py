"""What a script on a page finds wrong with how it looks: words too pale for what is behind them."""

AA, AA_LARGE = 4.5, 3.0
CONTRAST = """
(() => {
  const channels = colour => {
    const numbers = colour.match(/[0-9.]+/g).map(Number);
    return [...numbers.slice(0, 3), numbers.length > 3 ? numbers[3] : 1];
  };
  const over = (top, below) => {
    const [a, b] = [channels(top), below];
    return a.slice(0, 3).map((value, k) => value * a[3] + b[k] * (1 - a[3]));
  };
  const light = colour => colour.map(value => value / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, k) => sum + value * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = element => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.push(getComputedStyle(at).backgroundColor);
    return chain.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const found = [];
  let seen = 0;
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.getBoundingClientRect().width) continue;
    const style = getComputedStyle(element);
    const below = behind(element);
    const colour = over(element instanceof SVGElement ? style.fill : style.color, below);
    const [a, b] = [light(colour), light(below)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    seen += 1;
    if (ratio < (large ? LARGE : NORMAL)) found.push([element.tagName, element.textContent.slice(0, 30), ratio]);
  }
  return {seen, found};
})()
""".replace("LARGE", str(AA_LARGE)).replace("NORMAL", str(AA))
