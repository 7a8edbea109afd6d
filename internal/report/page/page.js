"use strict";
// Everything that is shown stands in the page; options of charts come from Go. This adds what needs the browser: the colours of light and
// dark, texts of hovering, legends, and boxes that filter tables.

const dark = matchMedia("(prefers-color-scheme: dark)");
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
const withMinus = (value) => String(value).replace("-", "−");

// hover is the text of hovering over points of an axis. Values are as Go wrote them.
function hover(axis, points) {
  const text = echarts.format.encodeHTML;
  const rows = points.map((point) => `<div class="hover"><span>${point.marker}${text(point.seriesName)}</span><b>${text(point.data.text)}</b></div>`);
  return text(`${axis.name ?? ""} ${points[0].axisValue}`) + rows.join("");
}

for (const figure of document.querySelectorAll(".charts")) {
  const boxes = [...figure.querySelectorAll(".chart")];
  const rows = [...figure.querySelectorAll(".legend button")];
  const charts = () => boxes.map((box) => echarts.getInstanceByDom(box)).filter(Boolean);

  // draw draws a chart in the colours of the page, with the rows that are switched on.
  const draw = (box) => {
    const option = JSON.parse(box.nextElementSibling.textContent);
    const hues = style("--hues").trim().split(/\s+/);
    option.textStyle = { fontFamily: getComputedStyle(document.body).fontFamily };
    Object.assign(option.tooltip, { backgroundColor: style("--paper"), borderColor: style("--line"), textStyle: { color: style("--ink") } });
    option.tooltip.formatter = (points) => hover(points[0].axisDim === "x" ? option.xAxis : option.yAxis, points);
    option.legend.selected = Object.fromEntries(rows.map((row) => [row.textContent, row.ariaPressed === "true"]));
    option.toolbox.iconStyle = { borderColor: style("--quiet") };
    option.toolbox.emphasis = { iconStyle: { borderColor: style("--ink") } };
    for (const axis of [option.xAxis, option.yAxis]) {
      axis.axisLabel = { color: style("--quiet"), ...axis.axisLabel };
      axis.nameTextStyle = { color: style("--quiet"), ...axis.nameTextStyle };
      if (axis.type !== "category") axis.axisLabel.formatter = (value) => withMinus(Number(value.toPrecision(6))) + (axis.unit ?? "");
    }
    for (const series of option.series) {
      const row = rows.findIndex((row) => row.textContent === series.name);
      if (row < 0) continue;
      const hue = hues[row % hues.length];
      rows[row].style.setProperty("--hue", hue);
      series.itemStyle = { color: hue, opacity: 1 };
      rows[row].classList.toggle("again", row >= hues.length);
      if (row >= hues.length) series.lineStyle = { type: "dashed", ...series.lineStyle };
    }
    const chart = echarts.init(box, dark.matches ? "dark" : null, { renderer: "svg" });
    chart.setOption(option);
    if (!matchMedia("(pointer: coarse)").matches) { // on a phone dragging scrolls
      chart.dispatchAction({ type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true });
    }
    chart.getZr().on("dblclick", () => chart.dispatchAction({ type: "dataZoom", start: 0, end: 100 }));
  };

  // A chart is drawn as soon as it has a place: when the part that holds it unfolds.
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const chart = echarts.getInstanceByDom(target);
      if (chart) chart.resize();
      else if (target.clientWidth > 0) draw(target);
    }
  });
  boxes.forEach((box) => sizes.observe(box));
  dark.addEventListener("change", () => charts().forEach((chart) => {
    const box = chart.getDom();
    chart.dispose();
    draw(box);
  }));

  // A click switches a row on or off, a double click all others.
  const dispatch = (type, name) => charts().forEach((chart) => chart.dispatchAction({ type, name, seriesName: name }));
  const show = (row, on) => {
    row.ariaPressed = String(on);
    dispatch(on ? "legendSelect" : "legendUnSelect", row.textContent);
  };
  for (const row of rows) {
    row.addEventListener("click", () => show(row, row.ariaPressed !== "true"));
    row.addEventListener("dblclick", () => {
      const others = rows.filter((other) => other !== row);
      const on = others.every((other) => other.ariaPressed === "false");
      show(row, true);
      others.forEach((other) => show(other, on));
    });
    row.addEventListener("mouseenter", () => dispatch("highlight", row.textContent));
    row.addEventListener("mouseleave", () => dispatch("downplay", row.textContent));
  }
}

// Tables with many rows get a box that hides those without its text.
const MANY = 8;
for (const table of document.querySelectorAll("table")) {
  if (table.tBodies[0].rows.length < MANY) continue;
  const label = document.createElement("label");
  label.className = "filter";
  const input = Object.assign(document.createElement("input"), { type: "search", placeholder: "Filter rows", ariaLabel: "Filter rows" });
  const count = document.createElement("output");
  label.append(input, count);
  table.parentElement.before(label);
  input.addEventListener("input", () => {
    const rows = [...table.tBodies[0].rows];
    const text = input.value.trim().toLowerCase().replaceAll("-", "−");
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().replaceAll("-", "−").includes(text);
    count.textContent = text && `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  });
}
