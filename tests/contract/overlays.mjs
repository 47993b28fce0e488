// Applies each overlay to the document: overlays.mjs OPENAPI OVERLAY... Fails if a target matches nothing.
import openapi from "openapi-format";

const [, , document, ...overlays] = process.argv;
for (const file of overlays) {
  const overlaySet = await openapi.parseFile(file);
  const { resultData } = await openapi.openapiOverlay(await openapi.parseFile(document), { overlaySet });
  const { totalUsedActions: used, unusedActions: unused } = resultData;
  console.log(`${file}: ${used} actions`);
  if (unused.length > 0 || used === 0) {
    console.error(unused.map(({ target }) => `${file}: ${target} matches nothing`).join("\n"));
    process.exitCode = 1;
  }
}
