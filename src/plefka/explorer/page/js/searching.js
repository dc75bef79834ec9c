// A worker: the search among all names, so that typing never waits for it.
// Every word of the query must occur in a name; names that begin with the query come first.

let folded = [];
let roles = "";

self.onmessage = ({ data }) => {
  if (data.names) {
    folded = data.names.map((name) => name.toLowerCase());
    roles = data.roles;
    return;
  }
  const { found, elsewhere } = search(data.query.trim().toLowerCase(), data.role);
  self.postMessage({ number: data.number, found, elsewhere }, [found.buffer]);
};

function search(query, role) {
  const words = query.split(/\s+/).filter(Boolean);
  const first = [];
  const others = [];
  let elsewhere = 0;
  for (let index = 0; index < folded.length; index += 1) {
    const name = folded[index];
    if (!words.every((word) => name.includes(word))) continue;
    if (role !== "a" && roles[index] !== role) elsewhere += 1;
    else (query && name.startsWith(query) ? first : others).push(index);
  }
  return { found: Int32Array.from([...first, ...others]), elsewhere };
}
